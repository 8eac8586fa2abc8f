-- Double-entry ledger: a transfer moves credits between a customer and one of the house's books.

CREATE TABLE ledger_transfers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge', 'refund')),
  account_id text NOT NULL REFERENCES accounts,
  job_id text REFERENCES jobs,
  credits bigint NOT NULL CHECK (credits > 0),
  note text NOT NULL DEFAULT '',
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- a job is charged once and refunded once
  UNIQUE (job_id, kind),
  CHECK ((kind = 'grant') = (job_id IS NULL))
);
CREATE INDEX ledger_transfers_account ON ledger_transfers (account_id, id);

CREATE TABLE ledger_entries (
  transfer_id bigint NOT NULL REFERENCES ledger_transfers,
  -- customer: the account's balance; issued: credits given out; revenue: credits earned
  book text NOT NULL CHECK (book IN ('customer', 'issued', 'revenue')),
  -- of the customer's book only
  account_id text REFERENCES accounts,
  amount bigint NOT NULL CHECK (amount <> 0),
  -- the customer's balance after this entry
  balance bigint CHECK (balance >= 0),
  PRIMARY KEY (transfer_id, book),
  CHECK ((book = 'customer') = (account_id IS NOT NULL)),
  CHECK ((book = 'customer') = (balance IS NOT NULL))
);
CREATE INDEX ledger_entries_account ON ledger_entries (account_id);

-- At commit every transfer has two entries that cancel out.
CREATE FUNCTION ledger_transfer_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE entries integer; total bigint;
BEGIN
  SELECT count(*), coalesce(sum(amount), 0) INTO entries, total
    FROM ledger_entries WHERE transfer_id = (to_jsonb(NEW) ->> TG_ARGV[0])::bigint;
  IF entries <> 2 OR total <> 0 THEN
    RAISE EXCEPTION 'ledger transfer does not balance: % entries, sum %', entries, total
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_transfers_balance AFTER INSERT ON ledger_transfers
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transfer_balances('id');
CREATE CONSTRAINT TRIGGER ledger_entries_balance AFTER INSERT ON ledger_entries
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transfer_balances('transfer_id');

CREATE TRIGGER ledger_transfers_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  EXECUTE FUNCTION refuse_change();
