-- Each attempt of a delivery reads the secrets of its owner. Those that were replaced are kept.
CREATE INDEX webhook_secrets_account ON webhook_secrets (account_id);
CREATE INDEX webhook_secrets_endpoint ON webhook_secrets (endpoint_id) WHERE endpoint_id IS NOT NULL;
