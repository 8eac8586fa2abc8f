-- Keeps the names of the jobs' videos in the form of search_text, for the search in the console (src/store/console-jobs.ts). A deleted job has none.
-- The text that a segment of a URL stands for; the segment itself where its escapes are none, or not UTF-8.
CREATE OR REPLACE FUNCTION percent_decoded(segment text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
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
CREATE OR REPLACE FUNCTION lower_case(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN lower(value COLLATE pg_c_utf8);
EXCEPTION WHEN undefined_object THEN
  RETURN lower(value);
END $$;

-- One form for each text of the search: lower case, and then each letter with its accents as one character (NFC). macOS writes them apart in names of
-- files. Unicode's forms are those of UTF8 alone; an older database may have another encoding.
CREATE OR REPLACE FUNCTION search_text(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CASE getdatabaseencoding() WHEN 'UTF8' THEN normalize(lower_case(value), NFC) ELSE lower_case(value) END;
END $$;

CREATE OR REPLACE FUNCTION job_name(file_name text, video_url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT search_text(left(coalesce(file_name, percent_decoded(nullif(regexp_replace(path, '^.*/', ''), '')), split_part(path, '/', 3), ''), 200))
    FROM (SELECT split_part(split_part(video_url, '#', 1), '?', 1) AS path) url
$$;

CREATE OR REPLACE FUNCTION job_names_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM job_names WHERE account_id = NEW.account_id AND mode = NEW.mode AND job_id = NEW.id;
  ELSE
    INSERT INTO job_names (account_id, mode, job_id, name) VALUES (NEW.account_id, NEW.mode, NEW.id, job_name(NEW.file_name, NEW.video_url))
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER job_names_inserted AFTER INSERT ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND NEW.deleted_at IS NULL) EXECUTE FUNCTION job_names_kept();
CREATE OR REPLACE TRIGGER job_names_deleted AFTER UPDATE OF deleted_at ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION job_names_kept();
