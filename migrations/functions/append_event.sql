-- Appends an entry to an account's audit log and returns it. Locks the log's head until the commit, so transactions call
-- it last, after they have locked the job and the account. `event_data` must be canonical JSON (RFC 8785). Then the text
-- that is hashed below is the canonical form of the whole entry, and src/domain/audit.ts computes the same hash. The
-- function reads the clock after it has the lock, so timestamps follow the sequence.
CREATE OR REPLACE FUNCTION append_event(event_account text, event_id text, event_kind text, event_job text, event_data text)
RETURNS job_events LANGUAGE plpgsql AS $$
DECLARE
  head event_heads;
  entry job_events;
BEGIN
  SELECT * INTO head FROM event_heads WHERE account_id = event_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    INSERT INTO event_heads (account_id, seq) VALUES (event_account, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO head FROM event_heads WHERE account_id = event_account FOR NO KEY UPDATE;
  END IF;
  entry.account_id := event_account;
  entry.seq := head.seq + 1;
  entry.id := event_id;
  entry.kind := event_kind;
  entry.job_id := event_job;
  entry.at := date_trunc('milliseconds', clock_timestamp());
  entry.data := event_data::jsonb;
  entry.previous_hash := head.hash;
  entry.hash := encode(sha256(convert_to(
    '{"account_id":"' || event_account
    || '","at":"' || to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","data":' || event_data
    || ',"id":"' || event_id
    || '","job_id":' || coalesce('"' || event_job || '"', 'null')
    || ',"kind":"' || event_kind
    || '","previous_hash":"' || head.hash
    || '","sequence":' || entry.seq || '}', 'UTF8')), 'hex');
  INSERT INTO job_events (account_id, seq, id, kind, job_id, at, data, previous_hash, hash)
    VALUES (entry.account_id, entry.seq, entry.id, entry.kind, entry.job_id, entry.at, entry.data,
      entry.previous_hash, entry.hash);
  RETURN entry;
END $$;
