-- Returns the number of steps for the autoscaler's workers: the steps that wait for any worker, and the steps that run on
-- these workers' hosts. An autoscaler such as KEDA divides it by the number of steps that one worker runs at a time.
--   step_tasks   task names of src/store/queue.ts. `job_enhance` includes segments and joins. `job_enhance:cpu` and
--                `job_enhance:cuda` include the steps that a worker with only that class of devices can run.
--   host_prefix  prefix of the host names of the autoscaler's workers; '' matches all workers. Steps that other workers
--                run must not start more workers.
-- The caller needs only the EXECUTE right, which no role has by default (docs/fleet.md).
CREATE OR REPLACE FUNCTION worker_demand(step_tasks text[], host_prefix text DEFAULT '')
RETURNS bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted text[] := step_tasks
    || CASE WHEN 'job_enhance' = ANY (step_tasks) THEN ARRAY['enhance_cpu', 'enhance_cuda', 'segment_cpu', 'segment_cuda', 'job_join'] END
    || CASE WHEN 'job_enhance:cpu' = ANY (step_tasks) THEN ARRAY['job_enhance', 'enhance_cpu', 'segment_cpu', 'job_join'] END
    || CASE WHEN 'job_enhance:cuda' = ANY (step_tasks) THEN ARRAY['job_enhance', 'enhance_cuda', 'segment_cuda', 'job_join'] END;
BEGIN
  RETURN (
    SELECT count(*) FROM graphile_worker.jobs q
    WHERE q.task_identifier = ANY (wanted)
      AND (
        q.locked_at IS NULL AND q.run_at <= now() AND q.attempts < q.max_attempts
        OR q.locked_at IS NOT NULL AND EXISTS (
          SELECT FROM public.workers w
          WHERE q.locked_by = ANY (w.pools) AND starts_with(coalesce(w.host, ''), host_prefix)
        )
      )
  );
END $$;
REVOKE ALL ON FUNCTION worker_demand(text[], text) FROM PUBLIC;
