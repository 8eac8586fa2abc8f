-- Customers choose how the result is encoded, and whether it comes with pictures.
ALTER TABLE jobs
  -- as requested: quality, max_bitrate, poster, thumbnails
  ADD COLUMN output_settings jsonb NOT NULL DEFAULT '{}',
  -- of a done job: its poster and thumbnails, each with the key of its object
  ADD COLUMN pictures jsonb;
ALTER TABLE objects DROP CONSTRAINT objects_role_check,
  ADD CONSTRAINT objects_role_check CHECK (role IN ('original', 'output', 'poster', 'thumbnail'));
