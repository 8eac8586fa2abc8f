-- An operator takes back what was granted too much: a transfer of its own, from the customer to the credits given out.

ALTER TABLE ledger_transfers
  DROP CONSTRAINT ledger_transfers_kind_check,
  DROP CONSTRAINT ledger_transfers_check,
  ADD CONSTRAINT ledger_transfers_kind_check CHECK (kind IN ('grant', 'withdrawal', 'charge', 'refund')),
  ADD CONSTRAINT ledger_transfers_check CHECK ((kind IN ('grant', 'withdrawal')) = (job_id IS NULL));

-- As in 0010, with withdrawals.
CREATE OR REPLACE FUNCTION post_transfer(kind text, account text, job text, amount bigint, note text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  signed bigint := CASE WHEN kind IN ('charge', 'withdrawal') THEN -amount ELSE amount END;
  after bigint;
  transfer bigint;
BEGIN
  UPDATE accounts SET credits = credits + signed WHERE id = account AND credits + signed >= 0
    RETURNING credits INTO after;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the balance of % does not cover % credits', account, amount
      USING ERRCODE = 'FL402', DETAIL = coalesce((SELECT credits::text FROM accounts WHERE id = account), '');
  END IF;
  INSERT INTO ledger_transfers (kind, account_id, job_id, credits, note) VALUES (kind, account, job, amount, note)
    RETURNING id INTO transfer;
  INSERT INTO ledger_entries (transfer_id, book, account_id, amount, balance) VALUES
    (transfer, 'customer', account, signed, after),
    (transfer, CASE WHEN kind IN ('grant', 'withdrawal') THEN 'issued' ELSE 'revenue' END, NULL, -signed, NULL);
  RETURN after;
END $$;
