-- Signing keys and the certificates that they signed.

CREATE TABLE signing_keys (
  -- RFC 7638 thumbprint
  kid text PRIMARY KEY,
  public_jwk jsonb NOT NULL,
  -- sealed under a key derived from the server's pepper (src/domain/vault.ts)
  private_jwk bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- signs nothing any more; its public part stays published, since documents are kept for ever
  retired_at timestamptz
);
-- One key signs, whoever starts at the same time.
CREATE UNIQUE INDEX signing_keys_current ON signing_keys ((true)) WHERE retired_at IS NULL;

CREATE FUNCTION signing_keys_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.retired_at IS NOT NULL
     OR (to_jsonb(NEW) - 'retired_at') IS DISTINCT FROM (to_jsonb(OLD) - 'retired_at') THEN
    RAISE EXCEPTION 'signing key % cannot be changed', OLD.kid USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER signing_keys_change BEFORE UPDATE ON signing_keys FOR EACH ROW EXECUTE FUNCTION signing_keys_kept();
CREATE TRIGGER signing_keys_immutable BEFORE DELETE OR TRUNCATE ON signing_keys EXECUTE FUNCTION refuse_change();

CREATE TABLE certificates (
  id text PRIMARY KEY CHECK (id ~ '^cert_[0-9a-hjkmnp-tv-z]{26}$'),
  -- one certificate a job
  job_id text NOT NULL UNIQUE REFERENCES jobs,
  account_id text NOT NULL REFERENCES accounts,
  -- compact JWS
  jws text NOT NULL,
  issued_at timestamptz NOT NULL
);
CREATE TRIGGER certificates_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON certificates
  EXECUTE FUNCTION refuse_change();

-- Deleted jobs of the Secure tier, for the look after those that wait for their certificate.
CREATE INDEX jobs_certified ON jobs (deleted_at) WHERE deleted_at IS NOT NULL AND tier = 'secure';
