-- Webhook deliveries that were settled long ago are dropped with their tries, and those under way are found quickly.

CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX webhook_deliveries_busy ON webhook_deliveries (account_id) WHERE busy_until IS NOT NULL;
