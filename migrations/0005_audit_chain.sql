-- The events of an account become a hash chain (src/domain/audit.ts makes the hashes): every row names the hash of
-- the one before it, and the head keeps that of the last.

ALTER TABLE job_events ADD COLUMN previous_hash text, ADD COLUMN hash text;
ALTER TABLE event_heads ADD COLUMN hash text NOT NULL DEFAULT repeat('0', 64) CHECK (hash ~ '^[0-9a-f]{64}$');

-- Rows written before there was a chain are linked now, once; the rules against change sleep for that long.
ALTER TABLE job_events DISABLE TRIGGER job_events_immutable;
ALTER TABLE event_heads DISABLE TRIGGER event_heads_step;

-- @step link_audit_log

ALTER TABLE event_heads ENABLE TRIGGER event_heads_step;
ALTER TABLE job_events ENABLE TRIGGER job_events_immutable;

ALTER TABLE job_events
  ALTER COLUMN previous_hash SET NOT NULL,
  ALTER COLUMN hash SET NOT NULL,
  ALTER COLUMN at DROP DEFAULT,
  ADD CHECK (previous_hash ~ '^[0-9a-f]{64}$'),
  ADD CHECK (hash ~ '^[0-9a-f]{64}$'),
  -- the time is hashed with milliseconds, so no more than those may be kept
  ADD CHECK (at = date_trunc('milliseconds', at));

-- A row is taken only as the next link of its account's chain, and becomes the head.
CREATE FUNCTION job_events_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE event_heads SET hash = NEW.hash
    WHERE account_id = NEW.account_id AND seq = NEW.seq AND hash = NEW.previous_hash;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'event % of % does not follow the head of its log', NEW.seq, NEW.account_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER job_events_link BEFORE INSERT ON job_events FOR EACH ROW EXECUTE FUNCTION job_events_link();

-- A head moves by one, and takes another hash only from the row that is being linked to it.
CREATE OR REPLACE FUNCTION event_heads_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id = OLD.account_id
     AND (NEW.seq = OLD.seq + 1 AND NEW.hash = OLD.hash
          OR NEW.seq = OLD.seq AND pg_trigger_depth() > 1) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'event head of % cannot move from % to %', OLD.account_id, OLD.seq, NEW.seq
    USING ERRCODE = 'restrict_violation';
END $$;
