-- What the service knows beside its trials: nothing of a participant.
CREATE TABLE tenants(name TEXT PRIMARY KEY, created REAL NOT NULL);
CREATE TABLE keys(
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(name), role TEXT NOT NULL,
    experiment TEXT, site TEXT, label TEXT NOT NULL, mac TEXT NOT NULL UNIQUE,
    created REAL NOT NULL, expires REAL, revoked REAL);
CREATE TABLE experiments(
    tenant TEXT NOT NULL REFERENCES tenants(name), id TEXT NOT NULL, title TEXT NOT NULL,
    settings TEXT NOT NULL, state TEXT NOT NULL, simulated INTEGER NOT NULL,
    created REAL NOT NULL, PRIMARY KEY(tenant, id));
CREATE TABLE repeated(
    tenant TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, answer BLOB NOT NULL,
    at REAL NOT NULL, PRIMARY KEY(tenant, key));
CREATE TABLE audit(
    number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, experiment TEXT, at REAL NOT NULL,
    actor TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL, chain TEXT NOT NULL);
