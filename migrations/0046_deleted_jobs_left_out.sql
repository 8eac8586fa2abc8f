-- What 0042 and 0044 added of jobs that were deleted meanwhile. All these deletions have ended (0045), so this sees them.
DELETE FROM job_metadata m USING jobs j WHERE j.id = m.job_id AND j.deleted_at IS NOT NULL;
DELETE FROM job_names n USING jobs j WHERE j.id = n.job_id AND j.deleted_at IS NOT NULL;
