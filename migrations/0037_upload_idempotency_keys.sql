-- A key belongs to what it created: a job (or preview) or an upload.
ALTER TABLE idempotency_keys
  ALTER COLUMN job_id DROP NOT NULL,
  ADD COLUMN upload_id text COLLATE "C" REFERENCES uploads ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT idempotency_keys_of_one CHECK (num_nonnulls(job_id, upload_id) = 1);
CREATE INDEX idempotency_keys_upload ON idempotency_keys (upload_id) WHERE upload_id IS NOT NULL;
