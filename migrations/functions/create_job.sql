-- Creates a job with everything that belongs to it, in one round trip. `wanted` holds columns of `jobs`, `retention_days` and, for a
-- caller of the console, `session_id`; `idempotency` is null or {key, fingerprint, days}; `queued` is {task, key, max_attempts} of
-- Graphile Worker. Raises SQLSTATE RM401 if the API key of the caller, which the event names, has been revoked or has expired, or if
-- the session has ended; RM402 if the balance does not cover the charge; RM403, with the account's approval as its detail, if a job in
-- live mode is for an account that is not approved; and RM404 if the upload has been deleted.
-- Returns no row if another job or upload has the same Idempotency-Key. The insert waits until a concurrent request with that key
-- has committed, so the caller can then read that request's job. An expired key counts as new.
CREATE OR REPLACE FUNCTION create_job(wanted jsonb, idempotency jsonb, queued jsonb, event_id text, event_data text)
RETURNS SETOF jobs LANGUAGE plpgsql AS $$
DECLARE
  job jobs := jsonb_populate_record(NULL::jobs, wanted);
  approval text;
  idempotency_ends timestamptz := now() + make_interval(days => (idempotency ->> 'days')::int);
BEGIN
  -- The video was measured since the caller was looked up, which may have taken 19 s.
  IF EXISTS (SELECT FROM api_keys k WHERE k.id = event_data::jsonb ->> 'key_id'
      AND (k.revoked_at IS NOT NULL OR k.expires_at <= clock_timestamp())) THEN
    RAISE EXCEPTION 'the API key of the caller is no longer valid' USING ERRCODE = 'RM401';
  END IF;
  IF wanted ->> 'session_id' IS NOT NULL
      AND NOT EXISTS (SELECT FROM console_sessions s WHERE s.id = wanted ->> 'session_id' AND s.expires_at > clock_timestamp()) THEN
    RAISE EXCEPTION 'the session of the caller has ended' USING ERRCODE = 'RM401';
  END IF;
  SELECT approval_status INTO approval FROM accounts WHERE id = job.account_id;
  IF job.mode = 'live' AND approval <> 'approved' THEN
    RAISE EXCEPTION 'the account % is not approved', job.account_id USING ERRCODE = 'RM403', DETAIL = approval;
  END IF;
  IF idempotency IS NOT NULL THEN
    INSERT INTO idempotency_keys AS k (account_id, mode, key, fingerprint, job_id, expires_at)
      VALUES (job.account_id, job.mode, idempotency ->> 'key', idempotency ->> 'fingerprint', job.id, idempotency_ends)
      ON CONFLICT (account_id, mode, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        job_id = excluded.job_id, upload_id = NULL, expires_at = excluded.expires_at, created_at = now()
      WHERE k.expires_at <= now();
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  -- FOR SHARE: a concurrent deletion of the upload waits for the commit, and then sees the job that needs its file.
  IF job.upload_id IS NOT NULL THEN
    PERFORM 1 FROM uploads u WHERE u.id = job.upload_id AND u.account_id = job.account_id AND u.mode = job.mode
      AND u.status = 'ready' AND u.deleted_at IS NULL FOR SHARE;
    IF NOT FOUND THEN RAISE EXCEPTION 'upload % does not exist or is not ready', job.upload_id USING ERRCODE = 'RM404'; END IF;
  END IF;
  INSERT INTO jobs (id, account_id, mode, tier, resolution, video_url, upload_id, file_name, webhook_url, model, enhancements,
      output_settings, metadata,
      duration_seconds, credits_charged, source, step, traceparent, preview, expires_at)
    VALUES (job.id, job.account_id, job.mode, job.tier, job.resolution, job.video_url, job.upload_id, job.file_name,
      job.webhook_url, job.model,
      job.enhancements, coalesce(job.output_settings, '{}'), job.metadata, job.duration_seconds, job.credits_charged, job.source, job.step, job.traceparent, job.preview,
      now() + make_interval(days => (wanted ->> 'retention_days')::int))
    RETURNING * INTO job;
  IF job.credits_charged > 0 THEN
    PERFORM post_transfer('charge', job.account_id, job.id, job.credits_charged, '');
  END IF;
  -- The default job_key_mode would search all waiting rows for the key. That search is most of the cost of creating a job
  -- and grows with the queue. `unsafe_dedupe` skips it, which is safe because a new job's key cannot be in the queue yet.
  -- The flag is the account's id: workers limit how many rows of one account run at a time (src/jobs/account-limiter.ts).
  PERFORM graphile_worker.add_job(queued ->> 'task', payload := json_build_object('jobId', job.id),
    job_key := queued ->> 'key', run_at := clock_timestamp(), max_attempts := (queued ->> 'max_attempts')::int,
    flags := ARRAY[job.account_id], job_key_mode := 'unsafe_dedupe');
  PERFORM append_event(job.account_id, event_id, CASE WHEN job.preview IS NULL THEN 'job.created' ELSE 'preview.created' END, job.id, event_data);
  RETURN NEXT job;
END $$;
