-- Since when the attempts have ended by faults of the storage or the database, which do not count (src/jobs/infrastructure-fault.ts);
-- null: the last attempt did not.
ALTER TABLE jobs ADD COLUMN infrastructure_fault_since timestamptz;
ALTER TABLE segments ADD COLUMN infrastructure_fault_since timestamptz;
