-- One limiter for all API processes: a row per key and class of calls (GCRA). Unlogged: a crash of the database
-- forgets how much of a quota was used, which costs nobody anything.

CREATE UNLOGGED TABLE rate_limits (
  key_id text NOT NULL,
  class text NOT NULL,
  -- theoretical arrival time: when the quota is whole again; epoch seconds
  tat double precision NOT NULL,
  -- when the last call was judged; epoch seconds
  at double precision NOT NULL,
  -- the last verdict
  allowed boolean NOT NULL,
  PRIMARY KEY (key_id, class)
) WITH (fillfactor = 50);
