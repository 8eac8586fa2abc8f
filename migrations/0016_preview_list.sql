-- Lists of previews (src/store/jobs.ts, src/store/console-jobs.ts). They are few, and jobs_listed leaves them out.
CREATE INDEX jobs_previews ON jobs (account_id, mode, id DESC) WHERE deleted_at IS NULL AND preview IS NOT NULL;
