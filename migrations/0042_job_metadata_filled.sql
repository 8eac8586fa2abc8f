-- Of the jobs before 0041. Their rows are locked: a deletion meanwhile would leave the hashes. Jobs that have ended are first, because they are
-- many and nothing but a deletion waits for them.
INSERT INTO job_metadata (account_id, mode, pair, job_id)
  SELECT j.account_id, j.mode, sha256(convert_to(key || '=' || value, 'UTF8')), j.id
  FROM (SELECT * FROM jobs WHERE finished_at IS NOT NULL AND deleted_at IS NULL AND preview IS NULL AND metadata <> '{}' FOR SHARE) j, jsonb_each_text(j.metadata)
  ON CONFLICT DO NOTHING;
INSERT INTO job_metadata (account_id, mode, pair, job_id)
  SELECT j.account_id, j.mode, sha256(convert_to(key || '=' || value, 'UTF8')), j.id
  FROM (SELECT * FROM jobs WHERE finished_at IS NULL AND deleted_at IS NULL AND preview IS NULL AND metadata <> '{}' FOR SHARE) j, jsonb_each_text(j.metadata)
  ON CONFLICT DO NOTHING;
