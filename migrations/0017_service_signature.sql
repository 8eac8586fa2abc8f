-- After a rotation X-Service-Signature, which has room for one signature, stays with the old secret until the account
-- switches or the overlap ends.

-- when the account switched the header to a newer secret; null: not switched
ALTER TABLE webhook_secrets ADD COLUMN switched_at timestamptz,
  ADD CHECK (switched_at IS NULL OR expires_at IS NOT NULL);

-- Until now the header changed with the rotation itself: those that are under way have switched.
UPDATE webhook_secrets SET switched_at = now() WHERE expires_at > now();
