-- Rejects an update of a head unless it advances the sequence by one and comes from the trigger that links a new entry
-- (job_events_link.sql).
CREATE OR REPLACE FUNCTION event_heads_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id = OLD.account_id AND NEW.seq = OLD.seq + 1 AND pg_trigger_depth() > 1 THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'event head of % cannot move from % to %', OLD.account_id, OLD.seq, NEW.seq
    USING ERRCODE = 'restrict_violation';
END $$;

CREATE OR REPLACE TRIGGER event_heads_step BEFORE UPDATE ON event_heads FOR EACH ROW EXECUTE FUNCTION event_heads_step();
