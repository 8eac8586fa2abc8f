-- Jobs that were deleted before the column was there.
UPDATE jobs SET certificate_due = true WHERE deleted_at IS NOT NULL AND tier = 'secure' AND NOT certificate_due
  AND NOT EXISTS (SELECT 1 FROM certificates WHERE job_id = jobs.id);
