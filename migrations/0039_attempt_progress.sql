-- What the attempt that holds the lease has done, from 0 to 1. `progress` never falls, so it also counts what earlier attempts did and lost; a
-- cancellation refunds by this column, or by the segments.
ALTER TABLE jobs ADD COLUMN attempt_progress double precision NOT NULL DEFAULT 0 CHECK (attempt_progress BETWEEN 0 AND 1);
-- Workers of earlier versions enhance these videos in one piece.
UPDATE jobs SET attempt_progress = progress WHERE lease_expires_at IS NOT NULL AND step = 'enhance' AND status = 'running' AND deleted_at IS NULL;
