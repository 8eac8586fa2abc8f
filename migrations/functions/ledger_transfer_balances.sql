-- Checks at commit that each transfer has exactly two entries whose sum is zero. The trigger's argument names the column
-- that holds the transfer's id.
CREATE OR REPLACE FUNCTION ledger_transfer_balances() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- PostgreSQL has no CREATE OR REPLACE for constraint triggers.
DROP TRIGGER IF EXISTS ledger_transfers_balance ON ledger_transfers;
CREATE CONSTRAINT TRIGGER ledger_transfers_balance AFTER INSERT ON ledger_transfers
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transfer_balances('id');
DROP TRIGGER IF EXISTS ledger_entries_balance ON ledger_entries;
CREATE CONSTRAINT TRIGGER ledger_entries_balance AFTER INSERT ON ledger_entries
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transfer_balances('transfer_id');
