-- Queue rows name the account that they work for, so that a worker can pass over those of an account which has enough
-- of them running (src/jobs/account-limiter.ts). A creation writes the account as the row's flag.

-- Since when a job has found no room on any disk although nothing else was under way; null when it waits for others.
ALTER TABLE jobs ADD COLUMN insufficient_disk_since timestamptz;

-- Jobs whose original is stored and whose result will need room.
CREATE INDEX jobs_pending_enhancement ON jobs (id) WHERE step = 'enhance' AND status = 'running' AND deleted_at IS NULL;

-- As in 0012, with the account as a flag.
CREATE OR REPLACE FUNCTION create_job(wanted jsonb, claim jsonb, queued jsonb, event_id text, event_data text)
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
    job_key := queued ->> 'key', run_at := clock_timestamp(), max_attempts := (queued ->> 'max_attempts')::int,
    flags := ARRAY[job.account_id], job_key_mode := 'unsafe_dedupe');
  PERFORM append_event(job.account_id, event_id, 'job.created', job.id, event_data);
  RETURN NEXT job;
END $$;
