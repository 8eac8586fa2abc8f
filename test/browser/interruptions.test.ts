/** What the console does when something comes in between: a refusal, a lost answer, a closed page, an ended link, another window. */
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeClip } from '../helpers/ffmpeg.ts';
import { openTab, openWorld, signUp, type World } from './world.ts';

let world: World;
let page: Page;

beforeAll(async () => {
  world = await openWorld();
  const tab = await openTab(world);
  ({ page } = tab);
  await signUp(tab, world, 'ada@example.com', 'Analytical Engines');
});

afterAll(() => world?.close());

/** A short clip on this machine; returns its path. */
async function clip(name: string): Promise<string> {
  const path = join(world.site.dataDir, name);
  await makeClip(path, { video: 'testsrc2=size=160x90:rate=10', seconds: 1, audio: null, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
  return path;
}

/** Names of the videos of all jobs, sorted. */
const jobNames = () =>
  page.evaluate(async () => {
    const { data } = (await (await fetch('/console/api/jobs')).json()) as { data: { source_name: string }[] };
    return data.map(({ source_name: name }) => name).toSorted();
  });

/** Answers the creation of jobs with `answer` where it returns true. */
async function onCreation(answer: (route: Route, fileNumber: number) => Promise<boolean>): Promise<() => Promise<void>> {
  let count = 0;
  const handler = async (route: Route) => {
    if (route.request().method() !== 'POST' || !(await answer(route, ++count))) await route.fallback();
  };
  await page.route('**/console/api/jobs', handler);
  return () => page.unroute('**/console/api/jobs', handler);
}

async function chooseFiles(paths: string[]): Promise<void> {
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  await page.getByLabel('Video files').setInputFiles(paths);
}

const remove = (name: string) => page.getByRole('button', { name: `Remove ${name}` });
const unavailable = { status: 503, json: { error: { code: 'service_unavailable', message: 'The service is busy.', type: 'api_error', request_id: 'req_x' } } };

describe('several videos, one of which is not accepted', () => {
  it('names the jobs that were created, and creates only the others when they are submitted with other settings', async () => {
    await chooseFiles([await clip('one.mp4'), await clip('two.mp4'), await clip('three.mp4')]);
    const allow = await onCreation(async (route, number) => {
      if (number !== 2) return false;
      await route.fulfill(unavailable);
      return true;
    });
    await page.getByRole('button', { name: 'Run in test mode (3 videos)' }).click();
    await page.getByText('The service is busy.').waitFor();
    const created = page.getByRole('status').filter({ hasText: '1 job created, but not that of two.mp4' });
    expect(await created.getByRole('link', { name: 'one.mp4' }).getAttribute('href')).toMatch(/\/console\/jobs\/job_\w+$/);
    await remove('two.mp4').waitFor();
    expect([await remove('one.mp4').count(), await remove('three.mp4').count()]).toEqual([0, 1]);
    await allow();

    await page.getByRole('radio', { name: '4K' }).check();
    await page.getByRole('button', { name: 'Run in test mode (2 videos)' }).click();
    await page.waitForURL(`${world.url}/jobs`);
    expect(await jobNames()).toEqual(['one.mp4', 'three.mp4', 'two.mp4']);
  });
});

describe('a job whose creation got no answer', () => {
  it('is created once, though the settings were changed before it was submitted again', async () => {
    await chooseFiles([await clip('lost.mp4')]);
    const allow = await onCreation(async (route, number) => {
      if (number !== 1) return false;
      await route.fetch();
      await route.abort();
      return true;
    });
    const submit = page.getByRole('button', { name: 'Run in test mode', exact: true });
    await submit.click();
    await page.getByText('The service cannot be reached.').first().waitFor();
    await page.getByRole('radio', { name: '4K' }).check();
    await submit.click();
    await page.waitForURL(/\/jobs\/job_/);
    await page.getByText('An earlier attempt had already created this job').first().waitFor();
    await allow();
    expect((await jobNames()).filter((name) => name === 'lost.mp4')).toHaveLength(1);
  });

  it('is created with the new settings if the service had not received it', async () => {
    await chooseFiles([await clip('unsent.mp4')]);
    const allow = await onCreation(async (route, number) => {
      if (number !== 1) return false;
      await route.abort();
      return true;
    });
    const submit = page.getByRole('button', { name: 'Run in test mode', exact: true });
    await submit.click();
    await page.getByText('The service cannot be reached.').first().waitFor();
    await page.getByRole('radio', { name: '4K' }).check();
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/console/api/jobs'));
    await submit.click();
    expect((await sent).postDataJSON()).toMatchObject({ request: { resolution: '4k' } });
    await page.waitForURL(/\/jobs\/job_/);
    await allow();
    expect((await jobNames()).filter((name) => name === 'unsent.mp4')).toHaveLength(1);
  });
});
