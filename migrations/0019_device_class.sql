-- `device_class`: the class of devices that is to enhance the video, because its segments failed on the other one; null: any.
-- `unserved_since`: since when it has waited for a class of devices that no worker has, while workers of the other class run.
ALTER TABLE jobs
  ADD COLUMN device_class text CHECK (device_class IN ('cpu', 'cuda')),
  ADD COLUMN unserved_since timestamptz;
