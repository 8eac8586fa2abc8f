-- The functions are part of this transaction (their later versions are in functions/job_names.sql). The lock waits for the jobs whose triggers run with
-- the earlier ones, so that 0048 sees all their names.
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

LOCK TABLE jobs IN SHARE MODE;
