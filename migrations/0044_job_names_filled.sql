-- Of the jobs before 0043. Their rows are locked: a deletion meanwhile would leave the names. Jobs that have ended are first, because they are
-- many and nothing but a deletion waits for them.
INSERT INTO job_names (account_id, mode, job_id, name)
  SELECT account_id, mode, id, job_name(file_name, video_url)
  FROM (SELECT * FROM jobs WHERE finished_at IS NOT NULL AND deleted_at IS NULL AND preview IS NULL FOR SHARE) j
  ON CONFLICT DO NOTHING;
INSERT INTO job_names (account_id, mode, job_id, name)
  SELECT account_id, mode, id, job_name(file_name, video_url)
  FROM (SELECT * FROM jobs WHERE finished_at IS NULL AND deleted_at IS NULL AND preview IS NULL FOR SHARE) j
  ON CONFLICT DO NOTHING;
