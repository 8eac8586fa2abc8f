-- Returns the number of steps for the autoscaler's workers: the steps that wait for any worker, and the steps that run on
-- these workers' hosts. An autoscaler such as KEDA divides it by the number of steps that one worker runs at a time.
--   step_tasks   task names of src/store/queue.ts, for any engine. `job_enhance` includes segments and joins. `job_enhance:cpu` and
--                `job_enhance:cuda` include the steps that a worker with only that class of devices can run.
--   host_prefix  prefix of the host names of the autoscaler's workers; '' matches all workers. Steps that other workers
--                run must not start more workers.
--   per_account  REELMEND_ENHANCEMENTS_PER_ACCOUNT of the workers; 0: no limit. Steps that wait because of it, or because of
--                their account's own limit, must not start workers.
-- The caller needs only the EXECUTE right, which no role has by default (docs/fleet.md).
CREATE OR REPLACE FUNCTION worker_demand(step_tasks text[], host_prefix text DEFAULT '', per_account int DEFAULT 0)
RETURNS bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  limited CONSTANT text[] := ARRAY['job_enhance', 'enhance_cpu', 'enhance_cuda', 'segment_cpu', 'segment_cuda', 'job_join'];
  wanted text[] := step_tasks
    || CASE WHEN 'job_enhance' = ANY (step_tasks) THEN limited END
    || CASE WHEN 'job_enhance:cpu' = ANY (step_tasks) THEN ARRAY['job_enhance', 'enhance_cpu', 'segment_cpu', 'job_join'] END
    || CASE WHEN 'job_enhance:cuda' = ANY (step_tasks) THEN ARRAY['job_enhance', 'enhance_cuda', 'segment_cuda', 'job_join'] END;
BEGIN
  RETURN (
    WITH steps AS (
      SELECT task = ANY (wanted) AS is_wanted, task = ANY (limited) AS is_limited, q.locked_at IS NOT NULL AS is_running,
        q.locked_at IS NOT NULL AND EXISTS (
          SELECT FROM public.workers w WHERE q.locked_by = ANY (w.pools) AND starts_with(coalesce(w.host, ''), host_prefix)
        ) AS runs_here,
        (SELECT flag FROM jsonb_object_keys(q.flags) flag LIMIT 1) AS account
      -- Behind a colon, a task names the engine that it is for.
      FROM graphile_worker.jobs q, split_part(q.task_identifier, ':', 1) task
      WHERE task = ANY (wanted || limited) AND (q.locked_at IS NOT NULL OR q.run_at <= now() AND q.attempts < q.max_attempts)),
    loads AS (
      SELECT account, is_limited, count(*) FILTER (WHERE is_running) AS running, count(*) FILTER (WHERE runs_here AND is_wanted) AS running_here,
        count(*) FILTER (WHERE is_wanted AND NOT is_running) AS waiting
      FROM steps GROUP BY account, is_limited)
    SELECT coalesce(sum(running_here + CASE WHEN is_limited AND at_once > 0 THEN least(waiting, greatest(0, at_once - running)) ELSE waiting END), 0)
    FROM (
      SELECT loads.*, coalesce((a.quotas ->> 'parallel_enhancements')::int, per_account) AS at_once
      FROM loads LEFT JOIN public.accounts a ON a.id = loads.account
    ) with_limits
  );
END $$;
REVOKE ALL ON FUNCTION worker_demand(text[], text, int) FROM PUBLIC;

-- The body names the schema of the tables, because it runs with the rights of their owner and must not follow a search path.
DO $$ BEGIN
  IF current_schema() <> 'public' THEN
    EXECUTE replace(pg_get_functiondef('worker_demand'::regproc), ' public.', ' ' || quote_ident(current_schema()) || '.');
  END IF;
END $$;
