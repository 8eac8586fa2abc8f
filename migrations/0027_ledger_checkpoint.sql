-- The scheduled check reads what is new since its checkpoint, and everything once a day (src/store/ledger-checks.ts).
ALTER TABLE ledger_checks
  -- start of the last check of everything that finished
  ADD COLUMN full_at timestamptz,
  -- what was committed by then is checked: transfers up to this id; jobs and events up to that time
  ADD COLUMN checked_transfer_id bigint,
  ADD COLUMN checked_until timestamptz,
  ADD CHECK ((checked_transfer_id IS NULL) = (checked_until IS NULL));
