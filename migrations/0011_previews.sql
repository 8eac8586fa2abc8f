-- A preview is a job that enhances a few stretches of its video, with up to three settings.
ALTER TABLE jobs
  -- null for a job; else {settings}, and when it is done {settings, stretches, clips}: src/domain/previews.ts
  ADD COLUMN preview jsonb,
  DROP CONSTRAINT jobs_id_check,
  ADD CONSTRAINT jobs_id_check CHECK (id ~ '^(job|prv)_[0-9a-hjkmnp-tv-z]{26}$'),
  ADD CONSTRAINT jobs_id_of_preview CHECK ((preview IS NOT NULL) = (id LIKE 'prv\_%')),
  DROP CONSTRAINT jobs_check5,
  ADD CONSTRAINT jobs_has_result CHECK (status <> 'done' OR preview IS NOT NULL OR output IS NOT NULL);
DROP INDEX jobs_listed;
CREATE INDEX jobs_listed ON jobs (account_id, mode, id DESC) WHERE deleted_at IS NULL AND preview IS NULL;
ALTER TABLE objects DROP CONSTRAINT objects_role_check,
  ADD CONSTRAINT objects_role_check CHECK (role IN ('original', 'output', 'poster', 'thumbnail', 'segment', 'clip'));
