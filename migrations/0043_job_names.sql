-- The names of the jobs' videos in lower case, for the search in the console: that of the uploaded file, or the last segment of the URL. The index
-- alone answers a search. The functions are part of this transaction (their later versions are in functions/job_names.sql), so that no job of an older
-- process falls between it and the next migration.
CREATE TABLE job_names (
  account_id text NOT NULL,
  mode text NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (account_id, mode, job_id) INCLUDE (name)
);

-- The text that a segment of a URL stands for; the segment itself where its escapes are none, or not UTF-8.
CREATE FUNCTION percent_decoded(segment text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF segment !~ '^([^%]|%[0-9A-Fa-f]{2})*$' THEN
    RETURN segment;
  END IF;
  RETURN (
    SELECT convert_from(string_agg(CASE WHEN part[1] IS NULL THEN convert_to(part[2], 'UTF8') ELSE decode(replace(part[1], '%', ''), 'hex') END, '' ORDER BY place), 'UTF8')
    FROM regexp_matches(segment, '((?:%..)+)|([^%]+)', 'g') WITH ORDINALITY AS parts (part, place));
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN segment;
END $$;

-- Of all letters, whatever the locale of the database; before PostgreSQL 17, of those that its locale knows.
CREATE FUNCTION lower_case(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN lower(value COLLATE pg_c_utf8);
EXCEPTION WHEN undefined_object THEN
  RETURN lower(value);
END $$;

CREATE FUNCTION job_name(file_name text, video_url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT lower_case(left(coalesce(file_name, percent_decoded(nullif(regexp_replace(path, '^.*/', ''), '')), split_part(path, '/', 3), ''), 200))
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
