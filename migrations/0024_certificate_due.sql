-- Whether a deleted job of the Secure tier waits for its certificate. The trigger is part of this transaction (its later versions are in
-- functions/jobs_certificate_due.sql), so that no deletion by an older process falls between the column and the next migrations.
ALTER TABLE jobs ADD COLUMN certificate_due boolean NOT NULL DEFAULT false;

CREATE FUNCTION jobs_certificate_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.certificate_due := true;
  RETURN NEW;
END $$;

CREATE TRIGGER jobs_certificate_due BEFORE UPDATE OF deleted_at ON jobs FOR EACH ROW
  WHEN (NEW.tier = 'secure' AND OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)
  EXECUTE FUNCTION jobs_certificate_due();
