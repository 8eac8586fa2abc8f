/** What a worker says of a GPU that is lost, in its row and in its metrics. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { periodicTasks } from '../../src/jobs/periodic-tasks.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import type { WorkerContext } from '../../src/jobs/worker-context.ts';
import { WorkerDescription } from '../../src/jobs/worker-description.ts';
import { FakeMedia } from '../helpers/worker-fakes.ts';

it('describes a lost GPU as not usable, and no device class while all are lost', async () => {
  const device = { name: 'made up', usable: true, reason: '', threads: 0, simd: 'sm_90', encoder: 'libx264', inference: [] };
  const media = new FakeMedia();
  media.found = ['cuda:0', 'cuda:1'].map((id) => ({ ...device, id }));
  const registry = new Registry();
  const described: object[] = [];
  const worker = {
    id: 'w',
    media,
    metrics: createWorkerMetrics(registry),
    config: { workerConcurrency: 1, device: 'cuda:all', leaseSeconds: 60 },
    tuning: { heartbeatsPerLease: 3, periodicMs: {} },
    deviceClasses: ['cuda'],
    store: { workers: { describe: async (_id: string, facts: object) => described.push(facts) > 0 } },
  } as unknown as WorkerContext;
  const { run } = periodicTasks(worker, [], new WorkerDescription(worker)).find(({ name }) => name === 'description')!;
  const usable = async () => [...(await registry.metrics()).matchAll(/^reelmend_device_usable\{device="(.*)"\} (\d)$/gm)].map(([, id, value]) => `${id} ${value}`);

  await run();
  expect(await usable()).toEqual(['cuda:0 1', 'cuda:1 1']);
  const lost = (id: string) => ({ id, reason: 'It fell off the bus.' });
  media.lost = [lost('cuda:1')];
  await run();
  expect(described.at(-1)).toMatchObject({ devices: [{ usable: true }, { usable: false, reason: 'It fell off the bus.' }], deviceClasses: ['cuda'] });
  expect(await usable()).toEqual(['cuda:0 1', 'cuda:1 0']);
  [media.lost, media.usable] = [[lost('cuda:0'), lost('cuda:1')], false];
  await run();
  expect(described.at(-1)).toMatchObject({ deviceClasses: [] });
  [media.lost, media.usable] = [[], true];
  await run();
  expect(described.at(-1)).toMatchObject({ devices: [{ usable: true }, { usable: true }], deviceClasses: ['cuda'] });
});
