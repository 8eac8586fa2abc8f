-- One video in segments: src/store/segments.ts.
-- `segment_plan`: what the engine decided for the whole video, until the job ends. `in_one_piece`: its segments were given up.
ALTER TABLE jobs
  ADD COLUMN segment_plan text,
  ADD COLUMN in_one_piece boolean NOT NULL DEFAULT false,
  DROP CONSTRAINT jobs_step_check,
  ADD CONSTRAINT jobs_step_check CHECK (step IN ('ingest', 'enhance', 'segments', 'join', 'test_mode'));

DROP INDEX jobs_pending_enhancement;
CREATE INDEX jobs_pending_enhancement ON jobs (id)
  WHERE step IN ('enhance', 'segments', 'join') AND status = 'running' AND deleted_at IS NULL;

ALTER TABLE objects DROP CONSTRAINT objects_role_check,
  ADD CONSTRAINT objects_role_check CHECK (role IN ('original', 'output', 'poster', 'thumbnail', 'segment'));

CREATE TABLE segments (
  job_id text NOT NULL REFERENCES jobs (id),
  number integer NOT NULL CHECK (number >= 0),
  start_seconds double precision NOT NULL CHECK (start_seconds >= 0),
  end_seconds double precision NOT NULL,
  frames bigint NOT NULL CHECK (frames > 0),
  -- what the plan was made for; a piece made by another kind of device would not fit
  device_class text NOT NULL CHECK (device_class IN ('cpu', 'cuda')),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'done')),
  -- fencing token: grows with every lease
  attempt integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  crashes integer NOT NULL DEFAULT 0,
  disk_wait_since timestamptz,
  progress double precision NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
  lease_owner text,
  lease_expires_at timestamptz,
  -- the piece of the current attempt
  object_key text REFERENCES objects (key),
  sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  -- what the engine applied
  result jsonb,
  PRIMARY KEY (job_id, number),
  CHECK (end_seconds > start_seconds),
  CHECK ((state = 'running') = (lease_owner IS NOT NULL)),
  CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL)),
  CHECK (state <> 'done' OR (object_key IS NOT NULL AND sha256 IS NOT NULL AND result IS NOT NULL))
);
CREATE INDEX segments_leased ON segments (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
CREATE INDEX segments_pending ON segments (job_id) WHERE state = 'pending';
CREATE INDEX segments_object ON segments (object_key) WHERE object_key IS NOT NULL;
