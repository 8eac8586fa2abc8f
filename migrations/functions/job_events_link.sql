-- Rejects an entry that does not follow the head of its account's chain. Otherwise, makes the entry the new head.
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

CREATE OR REPLACE TRIGGER job_events_link BEFORE INSERT ON job_events FOR EACH ROW EXECUTE FUNCTION job_events_link();
