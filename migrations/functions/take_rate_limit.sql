-- The rate limiter of all API processes: GCRA (the generic cell rate algorithm of ATM Forum TM 4.0). A caller may use a
-- whole quota in one burst; the quota refills continuously. Only the database's clock counts, so that all processes agree.

-- Locks the row of one quota and returns it as of now. Times never decrease from one call to the next, unless the clock
-- was set back by more than 5 s; then the new time is used.
CREATE OR REPLACE FUNCTION lock_rate_limit(quota_subject text, quota_class text, window_s float8)
RETURNS rate_limits LANGUAGE plpgsql AS $$
DECLARE
  quota rate_limits;
  now_s float8;
BEGIN
  LOOP
    SELECT * INTO quota FROM rate_limits WHERE subject = quota_subject AND class = quota_class FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    now_s := extract(epoch FROM clock_timestamp());
    INSERT INTO rate_limits (subject, class, tat, at) VALUES (quota_subject, quota_class, now_s, now_s)
      ON CONFLICT DO NOTHING;
  END LOOP;
  now_s := extract(epoch FROM clock_timestamp());
  IF quota.at <= now_s + 5 THEN now_s := greatest(quota.at, now_s); END IF;
  quota.at := now_s;
  quota.tat := greatest(now_s, least(quota.tat, now_s + window_s));
  RETURN quota;
END $$;

-- Takes up to `wanted` calls from the quota of a key and, if `account` is not null, also from its account's quota. Returns
-- how many calls both quotas allow; rejected calls use neither quota. `call_s` and `account_call_s` are the seconds in
-- which a quota refills by one call. `full_in_s` and `account_full_in_s` are the seconds until each quota is full again.
-- The commit is asynchronous (it does not wait for the disk), because every request waits for this function. A crash of
-- the database loses less than a second of counted calls. Call it in a transaction of its own, because the whole
-- transaction commits asynchronously.
CREATE OR REPLACE FUNCTION take_rate_limit(
  key text, account text, quota_class text, window_s float8, call_s float8, account_call_s float8, wanted integer,
  OUT allowed integer, OUT full_in_s float8, OUT account_full_in_s float8
) LANGUAGE plpgsql AS $$
DECLARE
  of_key rate_limits;
  of_account rate_limits;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  allowed := wanted;
  -- Always locks the account's row before the key's: a fixed order prevents deadlocks.
  IF account IS NOT NULL THEN
    of_account := lock_rate_limit(account, quota_class, window_s);
    allowed := least(allowed, floor((window_s - of_account.tat + of_account.at) / account_call_s + 0.001));
  END IF;
  of_key := lock_rate_limit(key, quota_class, window_s);
  allowed := greatest(0, least(allowed, floor((window_s - of_key.tat + of_key.at) / call_s + 0.001)));
  full_in_s := of_key.tat - of_key.at + allowed * call_s;
  account_full_in_s := of_account.tat - of_account.at + allowed * account_call_s;
  UPDATE rate_limits SET at = of_key.at, tat = of_key.at + full_in_s WHERE subject = key AND class = quota_class;
  IF account IS NOT NULL THEN
    UPDATE rate_limits SET at = of_account.at, tat = of_account.at + account_full_in_s
      WHERE subject = account AND class = quota_class;
  END IF;
END $$;
