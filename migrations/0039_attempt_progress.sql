-- What the attempt that holds the lease has done, from 0 to 1. `progress` never falls, so it also counts what earlier attempts did and lost; a
-- cancellation refunds by this column, or by the segments.
ALTER TABLE jobs ADD COLUMN attempt_progress double precision NOT NULL DEFAULT 0 CHECK (attempt_progress BETWEEN 0 AND 1);
