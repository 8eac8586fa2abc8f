/** A start over a storage that is not the one of the database: a disk that is not mounted, or another folder or bucket. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkStorage } from '../../src/app/check-storage.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { call, type JobView, openVideoSite, type VideoSite, waitForEnd } from '../helpers/service.ts';

let video: VideoSite;
let job: JobView;
beforeAll(async () => {
  video = await openVideoSite((dir) => makeClip(join(dir, 'clip.mp4'), { video: 'testsrc2=size=64x64:rate=5', seconds: 1, args: ['-c:v', 'libx264'] }));
  const { api, customer, files } = video;
  const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', { video_url: `${files.url}/clip.mp4`, resolution: '1080p' });
  job = await waitForEnd(api.url, customer.key, created.body.id);
});
afterAll(() => video?.close());

it('is refused in one sentence, unless the operator accepts it', async () => {
  const { site } = video;
  expect(job).toMatchObject({ status: 'done', error: null });
  const disk = join(site.dataDir, 'storage');
  await (await site.start('serve')).kill();
  await rename(disk, `${disk}-away`);
  for (const command of ['serve', 'work'] as const) {
    await expect(site.start(command)).rejects.toThrow(`The storage has none of the newest results (such as jobs/${job.id}/`);
  }
  await (await site.start('serve', { REELMEND_ACCEPT_MISSING_FILES: '1' })).kill();
  await rename(`${disk}-away`, disk);
  await (await site.start('serve')).kill();
});

it.each<[string, string[], (key: string) => Promise<{ size: number } | null>, boolean]>([
  ['has one of the newest results', ['a', 'b'], async (key) => (key === 'b' ? { size: 1 } : null), true],
  ['has none of them', ['a', 'b'], async () => null, false],
  ['does not respond', ['a'], async () => Promise.reject(new Error('down')), true],
  ['is empty before the first result', [], async () => null, true],
])('looks at a storage that %s', async (_, keys, stat, isAccepted) => {
  const checked = checkStorage({ store: { objects: { newestResults: async () => keys } }, storage: { stat } });
  await (isAccepted ? expect(checked).resolves.toBeUndefined() : expect(checked).rejects.toThrow('none of the newest results (such as a)'));
});

it('does not count results that were deleted', async () => {
  const { api, customer, site } = video;
  await call(api.url, customer.key, 'DELETE', `/v1/jobs/${job.id}`);
  const disk = join(site.dataDir, 'storage');
  await rename(disk, `${disk}-away`);
  await (await site.start('serve')).kill();
  await rename(`${disk}-away`, disk);
});
