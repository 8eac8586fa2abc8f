-- An endpoint may have very many deliveries, so a deleted one stays, without secrets, until the worker has removed its URL and the responses from
-- all of them (src/store/webhook-endpoints.ts).
ALTER TABLE webhook_endpoints ADD COLUMN deleted_at timestamptz;
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (id) WHERE deleted_at IS NOT NULL;
