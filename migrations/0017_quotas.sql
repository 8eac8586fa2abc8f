-- Limits that an operator has set for one account (src/domain/quotas.ts), in place of the service's settings.
ALTER TABLE accounts ADD COLUMN quotas jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(quotas) = 'object');
-- Workers ask before each enhancement whether an account has a limit of its own (src/store/workers.ts).
CREATE INDEX accounts_parallel ON accounts (id) WHERE quotas ? 'parallel_enhancements';
