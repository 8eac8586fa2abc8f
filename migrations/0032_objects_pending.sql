-- Objects that may be half stored. Every five minutes, src/store/objects.ts looks for those that should be gone.
CREATE INDEX objects_pending ON objects (job_id) WHERE state = 'pending';
