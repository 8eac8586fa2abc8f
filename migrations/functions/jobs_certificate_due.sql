-- Marks a deleted job of the Secure tier until its certificate is issued. Deleted jobs are kept for ever, so the search for
-- those that wait (src/store/certificates.ts) must read no others.
CREATE OR REPLACE FUNCTION jobs_certificate_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.certificate_due := true;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER jobs_certificate_due BEFORE UPDATE OF deleted_at ON jobs FOR EACH ROW
  WHEN (NEW.tier = 'secure' AND OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)
  EXECUTE FUNCTION jobs_certificate_due();

CREATE OR REPLACE FUNCTION certificates_issued() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE jobs SET certificate_due = false WHERE id = NEW.job_id AND certificate_due;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER certificates_issued AFTER INSERT ON certificates FOR EACH ROW EXECUTE FUNCTION certificates_issued();
