CREATE TABLE names(
    trial INTEGER PRIMARY KEY REFERENCES trials(trial), secret TEXT NOT NULL, trail TEXT NOT NULL,
    number INTEGER NOT NULL, chain TEXT NOT NULL);
CREATE TABLE forgotten(
    trial INTEGER NOT NULL REFERENCES trials(trial), token TEXT NOT NULL,
    PRIMARY KEY(trial, token));
CREATE TABLE trail(
    trial INTEGER NOT NULL REFERENCES trials(trial), number INTEGER NOT NULL, entry TEXT NOT NULL,
    chain TEXT NOT NULL, PRIMARY KEY(trial, number));
CREATE TABLE issued(
    trial INTEGER NOT NULL REFERENCES trials(trial), version INTEGER NOT NULL, shares TEXT NOT NULL,
    PRIMARY KEY(trial, version));
CREATE TABLE kits(
    trial INTEGER NOT NULL REFERENCES trials(trial), arm INTEGER NOT NULL, number INTEGER NOT NULL,
    code TEXT NOT NULL, unit TEXT, PRIMARY KEY(trial, arm, number));
CREATE INDEX kits_of ON kits(trial, unit);
CREATE TABLE beats(
    trial INTEGER PRIMARY KEY REFERENCES trials(trial), number INTEGER NOT NULL);
