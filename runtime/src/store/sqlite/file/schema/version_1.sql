-- Schema version 1. It is released and never changes.
-- Keys and row keys are always blobs, for their order is bytewise. Head, state and bodies are text where they
-- can be, for people who look at the file. The longest columns, which are updated most, come last.

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL, CHECK (name <> 'epoch' OR value < 2147483648)
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('epoch', 0), ('reopened', 0);

CREATE TABLE partition (
    id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL DEFAULT 0, owner TEXT, address TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0, clean INTEGER NOT NULL DEFAULT 1, highest INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE entity (
    id INTEGER PRIMARY KEY, partition INTEGER NOT NULL, space TEXT NOT NULL, key BLOB NOT NULL,
    kind TEXT NOT NULL, definition TEXT NOT NULL, config INTEGER NOT NULL, version INTEGER NOT NULL,
    status TEXT NOT NULL, phase INTEGER NOT NULL, alarm_at INTEGER, active INTEGER NOT NULL,
    crashes INTEGER NOT NULL, suspect TEXT, parked INTEGER, parked_why TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, head ANY NOT NULL, state ANY NOT NULL,
    UNIQUE (space, key)
) STRICT;
CREATE INDEX entity_due ON entity (partition, alarm_at, id) WHERE alarm_at IS NOT NULL AND parked IS NULL;
CREATE INDEX entity_active ON entity (partition, id) WHERE active = 1 AND parked IS NULL;
CREATE INDEX entity_parked ON entity (partition, id) WHERE parked IS NOT NULL;
CREATE INDEX entity_stuck ON entity (id)
    WHERE phase = 0 AND alarm_at IS NULL AND active = 0 AND parked IS NULL;

CREATE TABLE row (
    entity INTEGER NOT NULL, lane TEXT NOT NULL, key BLOB NOT NULL, body ANY NOT NULL,
    PRIMARY KEY (entity, lane, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE gone (
    entity INTEGER NOT NULL, whole INTEGER NOT NULL, lane TEXT NOT NULL, held INTEGER NOT NULL,
    PRIMARY KEY (entity, whole, lane)
) STRICT, WITHOUT ROWID;
CREATE INDEX gone_free ON gone (whole, entity, lane) WHERE held = 0;

CREATE TABLE inbox (
    partition INTEGER NOT NULL, space TEXT NOT NULL, key BLOB NOT NULL, version INTEGER NOT NULL, idx INTEGER NOT NULL,
    sender_space TEXT NOT NULL, sender_key BLOB NOT NULL, definition TEXT NOT NULL, verb TEXT NOT NULL,
    attempts INTEGER NOT NULL, at INTEGER NOT NULL, body ANY NOT NULL,
    PRIMARY KEY (partition, space, key, version, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE remembered (
    space TEXT NOT NULL, key BLOB NOT NULL, once BLOB NOT NULL, hash INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, reply ANY NOT NULL,
    PRIMARY KEY (space, key, once)
) STRICT, WITHOUT ROWID;
CREATE INDEX remembered_expiry ON remembered (expires_at);

CREATE TABLE config (
    definition TEXT NOT NULL, fingerprint INTEGER NOT NULL, body ANY NOT NULL,
    PRIMARY KEY (definition, fingerprint)
) STRICT, WITHOUT ROWID;
