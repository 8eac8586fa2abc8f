-- What creating a job writes (key, job, charge, queue row, audit entry) becomes one call, so that a creation is one
-- round trip and holds its account's locks for that long only. The pieces are functions of their own, which every
-- other transaction uses as well.

-- W3C Trace Context of the request that made the job, where that was traced.
ALTER TABLE jobs ADD COLUMN traceparent text CHECK (length(traceparent) <= 128);

-- An empty log has a head too, which the first event locks like every later one.
ALTER TABLE event_heads DROP CONSTRAINT event_heads_seq_check, ADD CHECK (seq >= 0);

-- A row is taken only as the next link of its account's chain, and becomes the head.
CREATE OR REPLACE FUNCTION job_events_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE event_heads SET seq = NEW.seq, hash = NEW.hash
    WHERE account_id = NEW.account_id AND seq = NEW.seq - 1 AND hash = NEW.previous_hash;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'event % of % does not follow the head of its log', NEW.seq, NEW.account_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;

-- A head moves by one, and only with the row that is being linked to it.
CREATE OR REPLACE FUNCTION event_heads_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id = OLD.account_id AND NEW.seq = OLD.seq + 1 AND pg_trigger_depth() > 1 THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'event head of % cannot move from % to %', OLD.account_id, OLD.seq, NEW.seq
    USING ERRCODE = 'restrict_violation';
END $$;

-- Appends to an account's log. Locks the account's head until the commit: call it last, after the locks on the job and
-- the balance, so that all transactions lock in one order. `event_data` is JSON in its canonical form (RFC 8785); with
-- it the text below is the canonical form of the whole entry, which src/domain/audit.ts hashes alike. The time is read
-- after the lock, so that it follows the sequence.
CREATE FUNCTION append_event(event_account text, event_id text, event_kind text, event_job text, event_data text)
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

-- Moves credits (a positive number) between a customer and a book of the house, and returns the new balance. Locks the
-- account's row until the commit. SQLSTATE FL402 when the balance does not cover it, with the balance as its detail.
CREATE FUNCTION post_transfer(kind text, account text, job text, amount bigint, note text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  signed bigint := CASE WHEN kind = 'charge' THEN -amount ELSE amount END;
  after bigint;
  transfer bigint;
BEGIN
  UPDATE accounts SET credits = credits + signed WHERE id = account AND credits + signed >= 0
    RETURNING credits INTO after;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the balance of % does not cover % credits', account, amount
      USING ERRCODE = 'FL402', DETAIL = coalesce((SELECT credits::text FROM accounts WHERE id = account), '');
  END IF;
  INSERT INTO ledger_transfers (kind, account_id, job_id, credits, note) VALUES (kind, account, job, amount, note)
    RETURNING id INTO transfer;
  INSERT INTO ledger_entries (transfer_id, book, account_id, amount, balance) VALUES
    (transfer, 'customer', account, signed, after),
    (transfer, CASE WHEN kind = 'grant' THEN 'issued' ELSE 'revenue' END, NULL, -signed, NULL);
  RETURN after;
END $$;

-- Makes a job with all that belongs to it. `wanted` holds columns of `jobs` and `retention_days`; `claim` is null or holds
-- {key, fingerprint, days}; `queued` holds {task, key, max_attempts} of Graphile Worker. Returns no row when the claimed
-- Idempotency-Key belongs to another job: while a request with the same key is in flight the insert waits for its
-- commit, so that the loser sees the winner's job. An expired key counts as new.
CREATE FUNCTION create_job(wanted jsonb, claim jsonb, queued jsonb, event_id text, event_data text)
RETURNS SETOF jobs LANGUAGE plpgsql AS $$
DECLARE
  job jobs := jsonb_populate_record(NULL::jobs, wanted);
  claim_ends timestamptz := now() + make_interval(days => (claim ->> 'days')::int);
BEGIN
  IF claim IS NOT NULL THEN
    INSERT INTO idempotency_keys AS k (account_id, mode, key, fingerprint, job_id, expires_at)
      VALUES (job.account_id, job.mode, claim ->> 'key', claim ->> 'fingerprint', job.id, claim_ends)
      ON CONFLICT (account_id, mode, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        job_id = excluded.job_id, expires_at = excluded.expires_at, created_at = now()
      WHERE k.expires_at <= now();
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, webhook_url, model, enhancements, metadata,
      duration_seconds, credits_charged, source, step, traceparent, expires_at)
    VALUES (job.id, job.account_id, job.mode, job.tier, job.resolution, job.video_url, job.webhook_url, job.model,
      job.enhancements, job.metadata, job.duration_seconds, job.credits_charged, job.source, job.step, job.traceparent,
      now() + make_interval(days => (wanted ->> 'retention_days')::int))
    RETURNING * INTO job;
  IF job.credits_charged > 0 THEN
    PERFORM post_transfer('charge', job.account_id, job.id, job.credits_charged, '');
  END IF;
  PERFORM graphile_worker.add_job(queued ->> 'task', payload := json_build_object('jobId', job.id),
    job_key := queued ->> 'key', run_at := clock_timestamp(), max_attempts := (queued ->> 'max_attempts')::int);
  PERFORM append_event(job.account_id, event_id, 'job.created', job.id, event_data);
  RETURN NEXT job;
END $$;
