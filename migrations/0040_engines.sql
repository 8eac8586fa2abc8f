-- The engine that planned a segment, and the one of a worker: the id of its version (src/jobs/enhancement-tasks.ts). Only workers with the engine
-- of the plan make the segment. null: any worker does; workers of older versions write none.
ALTER TABLE segments ADD COLUMN engine text;
ALTER TABLE workers ADD COLUMN engine text;
