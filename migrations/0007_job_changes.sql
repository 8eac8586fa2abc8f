-- Whoever watches a job hears of its changes (src/store/watch.ts).

CREATE FUNCTION jobs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('reelmend_jobs', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_changed AFTER UPDATE ON jobs FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.progress IS DISTINCT FROM NEW.progress
    OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
  EXECUTE FUNCTION jobs_changed();
