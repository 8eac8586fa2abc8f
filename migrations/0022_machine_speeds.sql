-- The measured speeds of the networks by kind of machine (src/media/speeds.ts makes the key). A worker of a known kind does not
-- measure them, so one that starts in a new container takes jobs at once.
CREATE TABLE machine_speeds (
  key text PRIMARY KEY,
  speeds jsonb NOT NULL,
  measured_at timestamptz NOT NULL DEFAULT now()
);
