-- Of the jobs before 0043, as 0042 does.
INSERT INTO job_names (account_id, mode, job_id, name)
  SELECT account_id, mode, id, job_name(file_name, video_url) FROM jobs WHERE deleted_at IS NULL AND preview IS NULL
  ON CONFLICT DO NOTHING;
