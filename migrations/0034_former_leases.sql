-- When the last lease of a worker on a segment expires whose plan was given up. Until then the worker may still have the video and store its
-- piece, so the certificate of a deletion waits.
ALTER TABLE jobs ADD COLUMN former_leases_expire_at timestamptz;
