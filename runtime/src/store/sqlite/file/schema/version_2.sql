-- Schema version 2: every name of ours begins with `drystone_`, so that an author may use any other name.
-- SQLite cannot rename an index; the indexes are made again.

ALTER TABLE partition RENAME TO drystone_partition;
ALTER TABLE entity RENAME TO drystone_entity;
ALTER TABLE row RENAME TO drystone_row;
ALTER TABLE gone RENAME TO drystone_gone;
ALTER TABLE inbox RENAME TO drystone_inbox;
ALTER TABLE remembered RENAME TO drystone_remembered;
ALTER TABLE config RENAME TO drystone_config;

-- The mark of the opening that sent a message; none for those that version 1 holds.
ALTER TABLE drystone_inbox ADD COLUMN mark INTEGER;

DROP INDEX entity_due;
DROP INDEX entity_active;
DROP INDEX entity_parked;
DROP INDEX entity_stuck;
DROP INDEX gone_free;
DROP INDEX remembered_expiry;

CREATE INDEX drystone_entity_due ON drystone_entity (partition, alarm_at, id)
    WHERE alarm_at IS NOT NULL AND parked IS NULL;
CREATE INDEX drystone_entity_active ON drystone_entity (partition, id) WHERE active = 1 AND parked IS NULL;
CREATE INDEX drystone_entity_parked ON drystone_entity (partition, id) WHERE parked IS NOT NULL;
CREATE INDEX drystone_entity_stuck ON drystone_entity (id)
    WHERE phase = 0 AND alarm_at IS NULL AND active = 0 AND parked IS NULL;
CREATE INDEX drystone_gone_free ON drystone_gone (whole, entity, lane) WHERE held = 0;
CREATE INDEX drystone_remembered_expiry ON drystone_remembered (expires_at);

-- Facts about the store itself: its sequence of epochs, its number of partitions, and the choices that were made
-- when it was opened for the first time (`choice/<name>`).
CREATE TABLE drystone_store (
    name TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL, CHECK (name <> 'epoch' OR value < 2147483648)
) STRICT, WITHOUT ROWID;
INSERT INTO drystone_store SELECT name, value FROM meta;
DROP TABLE meta;

-- Version 1 did not record whether all primitives share their keys. The default was the shared space `app`; the
-- other choice was one space per primitive. A file without entities of an author's has no choice yet.
INSERT INTO drystone_store
    SELECT 'choice/keys', 'shared' WHERE EXISTS (SELECT 1 FROM drystone_entity WHERE space = 'app');
INSERT INTO drystone_store
    SELECT 'choice/keys', 'separate' WHERE EXISTS (SELECT 1 FROM drystone_entity WHERE space NOT LIKE 'drystone%')
    ON CONFLICT DO NOTHING;

-- The migrations of the author's tables that were applied to this file, in order.
CREATE TABLE drystone_migration (place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash INTEGER NOT NULL) STRICT;
