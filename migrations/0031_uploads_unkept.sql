CREATE INDEX uploads_unkept ON uploads (destroyed_at) WHERE destroyed_at IS NOT NULL AND NOT kept;
DROP INDEX uploads_destroyed;
