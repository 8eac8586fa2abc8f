-- Files that customers send in parts; jobs can be created from them.
CREATE TABLE uploads (
  -- bytewise order: ids sort by time
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^upl_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts,
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'verifying', 'ready', 'failed')),
  -- the customer's name for the file, never a path; dropped at deletion
  file_name text CHECK (length(file_name) BETWEEN 1 AND 255),
  size_bytes bigint NOT NULL CHECK (size_bytes > 0),
  part_size_bytes integer NOT NULL CHECK (part_size_bytes > 0),
  -- as the customer says; once the upload is ready, as measured
  sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  -- of each part, as the customer says
  part_sha256 text[],
  key text NOT NULL UNIQUE,
  -- the storage's own name for the transfer; null until the storage has begun it
  multipart_id text,
  -- S3 version id
  version text,
  error_code text CHECK (error_code IN ('checksum_mismatch')),
  created_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  expires_at timestamptz NOT NULL,
  deleted_at timestamptz,
  deleted_by text CHECK (deleted_by IN ('customer', 'retention', 'operator')),
  -- when the storage itself answered that the key is absent
  destroyed_at timestamptz,
  CHECK ((deleted_at IS NULL) = (deleted_by IS NULL)),
  CHECK ((deleted_at IS NULL) = (file_name IS NOT NULL)),
  CHECK ((status = 'waiting') = (completed_at IS NULL)),
  CHECK ((status = 'failed') = (error_code IS NOT NULL)),
  CHECK (status <> 'ready' OR sha256 IS NOT NULL)
);
CREATE INDEX uploads_listed ON uploads (account_id, mode, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX uploads_present ON uploads (account_id, mode) WHERE destroyed_at IS NULL;
CREATE INDEX uploads_retention ON uploads (expires_at) WHERE deleted_at IS NULL;
CREATE INDEX uploads_pending ON uploads (id) WHERE destroyed_at IS NULL AND (deleted_at IS NOT NULL OR status IN ('verifying', 'failed'));
CREATE INDEX uploads_destroyed ON uploads (destroyed_at) WHERE destroyed_at IS NOT NULL;

ALTER TABLE jobs
  -- kept after the deletion of the job, for its certificate
  ADD COLUMN upload_id text REFERENCES uploads,
  -- of the upload; dropped at deletion
  ADD COLUMN file_name text,
  -- was: a job has a video_url until it is deleted
  DROP CONSTRAINT jobs_check7,
  ADD CONSTRAINT jobs_one_source CHECK (deleted_at IS NOT NULL OR (video_url IS NULL) = (upload_id IS NOT NULL)),
  ADD CONSTRAINT jobs_forgets_source CHECK (deleted_at IS NULL OR (video_url IS NULL AND file_name IS NULL)),
  ADD CONSTRAINT jobs_file_of_upload CHECK (file_name IS NULL OR upload_id IS NOT NULL);
CREATE INDEX jobs_upload ON jobs (upload_id) WHERE upload_id IS NOT NULL;
