-- Moves credits (a positive number) between a customer and one of the service's books, and returns the new balance. Locks
-- the account's row until the commit. Raises SQLSTATE RM402, with the balance as its detail, when the balance does not
-- cover the amount.
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
      USING ERRCODE = 'RM402', DETAIL = coalesce((SELECT credits::text FROM accounts WHERE id = account), '');
  END IF;
  INSERT INTO ledger_transfers (kind, account_id, job_id, credits, note) VALUES (kind, account, job, amount, note)
    RETURNING id INTO transfer;
  INSERT INTO ledger_entries (transfer_id, book, account_id, amount, balance) VALUES
    (transfer, 'customer', account, signed, after),
    (transfer, CASE WHEN kind IN ('grant', 'withdrawal') THEN 'issued' ELSE 'revenue' END, NULL, -signed, NULL);
  RETURN after;
END $$;
