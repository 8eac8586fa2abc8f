-- Rejects every update of a signing key, except one that sets `retired_at` for the first time.
CREATE OR REPLACE FUNCTION signing_keys_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.retired_at IS NOT NULL
     OR (to_jsonb(NEW) - 'retired_at') IS DISTINCT FROM (to_jsonb(OLD) - 'retired_at') THEN
    RAISE EXCEPTION 'signing key % cannot be changed', OLD.kid USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER signing_keys_change BEFORE UPDATE ON signing_keys
  FOR EACH ROW EXECUTE FUNCTION signing_keys_kept();
