CREATE TABLE witness(
    home SERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE, id TEXT NOT NULL, place TEXT NOT NULL,
    file TEXT NOT NULL, size INTEGER NOT NULL, chain TEXT NOT NULL, server TEXT NOT NULL,
    fence TEXT NOT NULL);
CREATE TABLE trials(
    trial INTEGER PRIMARY KEY, settings TEXT NOT NULL, public TEXT NOT NULL, secret BLOB NOT NULL,
    key INTEGER NOT NULL);
CREATE TABLE heads(
    trial INTEGER PRIMARY KEY REFERENCES trials(trial), version INTEGER NOT NULL,
    generation INTEGER NOT NULL, moved TEXT NOT NULL, assigned TEXT NOT NULL, taken INTEGER NOT NULL);
CREATE TABLE places(
    unit TEXT NOT NULL, trial INTEGER NOT NULL REFERENCES trials(trial), turn INTEGER NOT NULL,
    arm BLOB NOT NULL, block TEXT, slot INTEGER, at REAL, number INTEGER, due REAL,
    share REAL,
    PRIMARY KEY(unit, trial, turn)) WITHOUT ROWID;
CREATE UNIQUE INDEX seats ON places(trial, block, slot) WHERE block IS NOT NULL;
CREATE TABLE keys(id SERIAL PRIMARY KEY, key BLOB NOT NULL);
CREATE TABLE free(id INTEGER PRIMARY KEY);
CREATE TABLE open_blocks(
    trial INTEGER NOT NULL REFERENCES trials(trial), block TEXT NOT NULL, key INTEGER NOT NULL,
    filled INTEGER NOT NULL, at REAL, due REAL, answered BLOB NOT NULL,
    PRIMARY KEY(trial, block)) WITHOUT ROWID;
CREATE TABLE pending(
    trial INTEGER NOT NULL, block TEXT NOT NULL, slot INTEGER NOT NULL, outcome BLOB NOT NULL,
    action BLOB, private INTEGER NOT NULL, PRIMARY KEY(trial, block, slot),
    FOREIGN KEY(trial, block) REFERENCES open_blocks(trial, block) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE releases(
    trial INTEGER NOT NULL REFERENCES trials(trial), generation INTEGER NOT NULL,
    block TEXT NOT NULL, PRIMARY KEY(trial, generation), UNIQUE(trial, block)) WITHOUT ROWID;
CREATE VIEW block_keys AS
    SELECT b.trial, b.block, k.key, b.filled, b.at, b.due
    FROM open_blocks b JOIN keys k ON k.id = b.key;
