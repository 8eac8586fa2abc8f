-- Rejects every update that moves a job backwards. Allows the transitions of src/domain/transitions.ts; a test compares
-- the two. Progress never falls, except when a worker of an earlier version makes pieces anew: all pieces of a plan that is given
-- up, or those that are lost before the join. Those workers do not know attempt_progress either: here it follows their writes.
CREATE OR REPLACE FUNCTION jobs_move_forward() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status IN ('done', 'error') AND NEW.status <> OLD.status
     OR OLD.status = 'running' AND NEW.status = 'queued'
     OR OLD.status = 'queued' AND NEW.status = 'done'
     OR OLD.deleted_at IS NOT NULL AND (NEW.deleted_at IS DISTINCT FROM OLD.deleted_at OR NEW.status <> OLD.status)
     OR NEW.attempt < OLD.attempt
     OR NEW.progress < OLD.progress AND NOT (NEW.status = 'running' AND OLD.segment_plan IS NOT NULL
       AND (NEW.segment_plan IS NULL OR OLD.step = 'join' AND NEW.step = 'segments'))
     OR NEW.credits_refunded < OLD.credits_refunded
     OR NEW.credits_charged <> OLD.credits_charged
     OR NEW.account_id <> OLD.account_id THEN
    RAISE EXCEPTION 'job % cannot move from % back to %', OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.attempt_progress = OLD.attempt_progress THEN
    IF NEW.attempt > OLD.attempt THEN
      NEW.attempt_progress := 0;
    ELSIF NEW.progress > OLD.progress AND NEW.lease_owner IS NOT NULL THEN
      NEW.attempt_progress := NEW.progress;
    END IF;
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER jobs_move_forward BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_move_forward();
