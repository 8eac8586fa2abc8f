-- One limiter for all API processes: a row per key and class of calls (GCRA). Unlogged: a crash of the database
-- forgets how much of a quota was used, which costs nobody anything.

CREATE UNLOGGED TABLE rate_limits (
  key_id text NOT NULL,
  class text NOT NULL,
  -- theoretical arrival time: when the quota is whole again; epoch seconds
  tat double precision NOT NULL,
  -- when the last call was judged; epoch seconds
  at double precision NOT NULL,
  -- how many calls of the last look were allowed
  allowed integer NOT NULL CHECK (allowed >= 0),
  PRIMARY KEY (key_id, class)
) WITH (fillfactor = 50);
