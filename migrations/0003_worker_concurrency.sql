-- A worker may enhance nothing: it downloads, delivers webhooks and runs the scheduled tasks for workers that come and go.
ALTER TABLE workers DROP CONSTRAINT workers_concurrency_check, ADD CONSTRAINT workers_concurrency_check CHECK (concurrency >= 0);
