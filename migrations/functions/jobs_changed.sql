-- Notifies the watchers of a job and of its account (src/store/job-feed.ts). Sends nothing for previews, which have no
-- watchers. The payload is the job's id, a space and the account's id.
CREATE OR REPLACE FUNCTION jobs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('reelmend_jobs', NEW.id || ' ' || NEW.account_id);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER jobs_changed AFTER UPDATE ON jobs FOR EACH ROW
  WHEN (NEW.preview IS NULL AND (OLD.status IS DISTINCT FROM NEW.status OR OLD.progress IS DISTINCT FROM NEW.progress
    OR OLD.eta_seconds IS DISTINCT FROM NEW.eta_seconds OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at))
  EXECUTE FUNCTION jobs_changed();
