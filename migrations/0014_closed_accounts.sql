-- An operator closes an account: its keys end, its people are forgotten, its jobs are deleted with their files. What the
-- books, the audit log and the certificates say of it stays.

ALTER TABLE accounts ADD COLUMN closed_at timestamptz;
CREATE INDEX accounts_closed ON accounts (id) WHERE closed_at IS NOT NULL;

ALTER TABLE jobs
  DROP CONSTRAINT jobs_deleted_by_check,
  ADD CONSTRAINT jobs_deleted_by_check CHECK (deleted_by IN ('customer', 'retention', 'operator'));
