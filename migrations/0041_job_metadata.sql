-- The metadata of jobs, for lists of the jobs with a pair. Hashes are short, whatever the pairs are. The function is part of this transaction
-- (its later versions are in functions/job_metadata.sql), so that no job of an older process falls between it and the next migration.
CREATE TABLE job_metadata (
  account_id text NOT NULL,
  mode text NOT NULL,
  -- SHA-256 of `name=value`
  pair bytea NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (account_id, mode, pair, job_id)
);

CREATE FUNCTION job_metadata_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM job_metadata m USING jsonb_each_text(OLD.metadata) former
      WHERE m.account_id = OLD.account_id AND m.mode = OLD.mode AND m.job_id = OLD.id
        AND m.pair = sha256(convert_to(former.key || '=' || former.value, 'UTF8'));
  END IF;
  INSERT INTO job_metadata (account_id, mode, pair, job_id)
    SELECT NEW.account_id, NEW.mode, sha256(convert_to(key || '=' || value, 'UTF8')), NEW.id FROM jsonb_each_text(NEW.metadata)
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER job_metadata_inserted AFTER INSERT ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND NEW.metadata <> '{}') EXECUTE FUNCTION job_metadata_kept();
CREATE TRIGGER job_metadata_updated AFTER UPDATE OF metadata ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION job_metadata_kept();
