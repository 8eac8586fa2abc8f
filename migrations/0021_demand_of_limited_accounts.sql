-- It has a third parameter now: functions/worker_demand.sql.
DROP FUNCTION IF EXISTS worker_demand(text[], text);
