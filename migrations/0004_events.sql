-- What happened on an account, numbered without gaps, never changed.

CREATE TABLE event_heads (
  account_id text PRIMARY KEY REFERENCES accounts,
  seq bigint NOT NULL CHECK (seq > 0)
);

CREATE TABLE job_events (
  account_id text NOT NULL REFERENCES accounts,
  seq bigint NOT NULL CHECK (seq > 0),
  id text NOT NULL UNIQUE CHECK (id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$'),
  kind text NOT NULL,
  job_id text REFERENCES jobs,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  data jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, seq)
);
CREATE INDEX job_events_job ON job_events (job_id, seq);

CREATE TRIGGER job_events_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON job_events
  EXECUTE FUNCTION refuse_change();

-- A head only moves forward by one, so a number is neither skipped nor used twice.
CREATE FUNCTION event_heads_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id <> OLD.account_id OR NEW.seq <> OLD.seq + 1 THEN
    RAISE EXCEPTION 'event head of % cannot move from % to %', OLD.account_id, OLD.seq, NEW.seq
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER event_heads_step BEFORE UPDATE ON event_heads FOR EACH ROW EXECUTE FUNCTION event_heads_step();
CREATE TRIGGER event_heads_kept BEFORE DELETE OR TRUNCATE ON event_heads EXECUTE FUNCTION refuse_change();
