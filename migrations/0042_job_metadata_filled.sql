-- Of the jobs before 0041: one statement, so that each job is in its snapshot, also one that ends meanwhile. It locks no rows, and so leaves hashes of
-- jobs that are deleted meanwhile: 0046 deletes these.
INSERT INTO job_metadata (account_id, mode, pair, job_id)
  SELECT j.account_id, j.mode, sha256(convert_to(key || '=' || value, 'UTF8')), j.id
  FROM jobs j, jsonb_each_text(j.metadata)
  WHERE j.deleted_at IS NULL AND j.preview IS NULL
  ON CONFLICT DO NOTHING;
