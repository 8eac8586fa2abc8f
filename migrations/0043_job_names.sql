-- The names of the jobs' videos in lower case, for the search in the console: that of the uploaded file, or the last segment of the URL. The index
-- alone answers a search. The function is part of this transaction (its later versions are in functions/job_names.sql), so that no job of an older
-- process falls between it and the next migration.
CREATE TABLE job_names (
  account_id text NOT NULL,
  mode text NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (account_id, mode, job_id) INCLUDE (name)
);

CREATE FUNCTION job_name(file_name text, video_url text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT lower(left(coalesce(file_name, nullif(regexp_replace(path, '^.*/', ''), ''), split_part(path, '/', 3), ''), 200))
    FROM (SELECT split_part(split_part(video_url, '#', 1), '?', 1) AS path) url
$$;

CREATE FUNCTION job_names_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM job_names WHERE account_id = NEW.account_id AND mode = NEW.mode AND job_id = NEW.id;
  ELSE
    INSERT INTO job_names (account_id, mode, job_id, name) VALUES (NEW.account_id, NEW.mode, NEW.id, job_name(NEW.file_name, NEW.video_url))
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER job_names_inserted AFTER INSERT ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND NEW.deleted_at IS NULL) EXECUTE FUNCTION job_names_kept();
CREATE TRIGGER job_names_deleted AFTER UPDATE OF deleted_at ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION job_names_kept();
