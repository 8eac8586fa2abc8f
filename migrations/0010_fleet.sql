-- How segments are scheduled: src/store/segments.ts.
-- `queued`: the queue has, or had, a row for it; a job's later segments are queued as the earlier ones end.
-- `priority`: of its row in the queue; lower ones run first. `started_at`: when its current or last lease began.
-- `previewed`: a link to its piece was handed out.
-- `moved`: it failed on the class of devices that it was planned for, and is tried on the other one.
ALTER TABLE segments
  ADD COLUMN queued boolean NOT NULL DEFAULT true,
  ADD COLUMN priority smallint NOT NULL DEFAULT 0,
  ADD COLUMN started_at timestamptz,
  ADD COLUMN moved boolean NOT NULL DEFAULT false,
  ADD COLUMN previewed boolean NOT NULL DEFAULT false;

-- The classes of devices for which the worker makes segments.
ALTER TABLE workers ADD COLUMN device_classes text[] NOT NULL DEFAULT '{}';
