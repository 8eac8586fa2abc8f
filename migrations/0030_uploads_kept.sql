-- Uploads with a job stay for ever. The hourly search for others (src/store/uploads.ts) marks them, and so reads each only once.
ALTER TABLE uploads ADD COLUMN kept boolean NOT NULL DEFAULT false;
