-- Secrets have numbers, and marks by which the right file of secrets is known.
ALTER TABLE experiments ADD COLUMN secret INTEGER NOT NULL DEFAULT 1;
CREATE TABLE secrets(
    tenant TEXT NOT NULL, number INTEGER NOT NULL, mark TEXT NOT NULL,
    PRIMARY KEY(tenant, number));
