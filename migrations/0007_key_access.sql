-- Keys have a name, by which people tell them apart, and may be restricted.
ALTER TABLE api_keys
  ADD COLUMN name text NOT NULL DEFAULT '' CHECK (length(name) <= 100),
  ADD COLUMN access text NOT NULL DEFAULT 'full' CHECK (access IN ('full', 'read_only', 'create_only'));
