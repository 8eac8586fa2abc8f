/** The database refuses every move of a job that the table of transitions lacks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobStatus } from '../../src/domain/job.ts';
import { type Transition, transitions } from '../../src/domain/transitions.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

const statuses: JobStatus[] = ['queued', 'running', 'done', 'error'];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

async function jobIn(status: JobStatus): Promise<string> {
  const account = await fundedAccount(world.store, 1000);
  const { id } = (await world.store.jobs.create(jobInput(account))).job;
  if (status !== 'queued') await setStatus(id, 'running');
  if (status === 'done' || status === 'error') await setStatus(id, status);
  return id;
}

/** With the columns that a status needs, so that only the move itself can be refused. */
function setStatus(id: string, status: JobStatus) {
  const ended = status === 'done' || status === 'error';
  return world.sql`UPDATE jobs SET status = ${status}, output = ${status === 'done' ? '{}' : null}::jsonb,
    error_code = ${status === 'error' ? 'processing_failed' : null}, finished_at = ${ended ? new Date() : null}
    WHERE id = ${id}`;
}

const allowed = (from: JobStatus, to: JobStatus) =>
  from === to || Object.values<Transition>(transitions).some((move) => move.from.includes(from) && move.to === to);

describe('the database', () => {
  for (const [from, to] of statuses.flatMap((one) => statuses.map((other) => [one, other] as const))) {
    it(`${allowed(from, to) ? 'lets' : 'does not let'} a job that is ${from} become ${to}`, async () => {
      const move = setStatus(await jobIn(from), to);
      if (allowed(from, to)) await move;
      else await expect(move).rejects.toMatchObject({ code: '23001' });
    });
  }
});
