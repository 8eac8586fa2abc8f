/** The videos of one customer in the console, in a real browser: from a price, a file or a preview to a verified certificate. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyCertificate } from '../../src/evidence/index.ts';
import { type Outcome, runCommand } from '../helpers/command.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { eventually } from '../helpers/wait.ts';
import { letIn, makeOperator } from './operator.ts';
import { axeViolations, dropFiles, meanDifference, openTab, openWorld, pixelsOf, signUp, type Tab, type World } from './world.ts';

let world: World;
let customer: Tab;
let operator: Tab;

beforeAll(async () => {
  world = await openWorld({ REELMEND_DEMO: '1' });
  customer = await openTab(world);
  operator = await openTab(world);
  await signUp(customer, world, 'ada@example.com', 'Analytical Engines');
  await signUp(operator, world, 'grace@example.com', 'Operations');
  await makeOperator(world);
  await letIn(operator, 'Analytical Engines');
});

afterAll(async () => {
  const complaints = [customer, operator].flatMap((tab) => tab?.complaints ?? []);
  await world?.close();
  expect(complaints).toEqual([]);
});

describe('a live job of the Secure tier', () => {
  it('is priced before it is submitted', async () => {
    const { page } = customer;
    await page.goto(`${world.url}/enhance`);
    await page.getByLabel('Secure tier').check();
    await page.getByText('$0.24').waitFor();
    expect(await page.getByText('384 × 216, h264').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Enhance', exact: true }).click();
    await page.waitForURL(/\/jobs\/job_/);
  });

  it('moves by itself, without a reload, until its viewer appears', async () => {
    const { page } = customer;
    await page.getByRole('region', { name: 'Before and after' }).waitFor();
    await page.getByText('The enhanced video is ready.').waitFor();
    // What was applied stands with its reason.
    await page.getByText(/^the picture is enlarged [\d.]+ times/).first().waitFor();
    await page.getByText('MP4 or MOV').waitFor();
    // The bundled clip shows a face.
    await page.getByText(/only faces that are found are restored$/).waitFor();
    expect(await page.getByText('no face found').count()).toBe(0);
    expect(customer.complaints).toEqual([]);
  });

  it('shows other pixels left of the divider than right of it, both of the same frame', async () => {
    const { page } = customer;
    const stage = page.locator('.stage');
    const divider = page.getByRole('slider', { name: 'Divider between before and after' });
    await page.waitForFunction(() => [...document.querySelectorAll('video')].every((video) => video.readyState >= 3));
    const look = async (key: string) => {
      await divider.press(key);
      return pixelsOf(await stage.screenshot());
    };
    const after = await look('Home');
    const before = await look('End');
    for (let press = 0; press < 5; press++) await divider.press('PageDown');
    expect(await divider.getAttribute('aria-valuenow')).toBe('50');
    const both = await pixelsOf(await stage.screenshot());
    // Enhanced and not: the same scene, visibly sharper.
    expect(meanDifference(before, after, 0, 1)).toBeGreaterThan(0.5);
    expect(meanDifference(before, after, 0, 1)).toBeLessThan(30);
    // Half and half, away from the divider, its knob and the labels.
    expect(meanDifference(both, before, 0.2, 0.45)).toBeLessThan(0.2);
    expect(meanDifference(both, after, 0.2, 0.45)).toBeGreaterThan(0.2);
    expect(meanDifference(both, after, 0.55, 0.8)).toBeLessThan(0.2);
    expect(meanDifference(both, before, 0.55, 0.8)).toBeGreaterThan(0.2);
  });

  it('plays both videos in step, and steps frame by frame by the keyboard', async () => {
    const { page } = customer;
    const divider = page.getByRole('slider', { name: 'Divider between before and after' });
    const times = () => page.evaluate(() => [...document.querySelectorAll('video')].map((video) => video.currentTime));
    await divider.press('k');
    // 25 frames a second: less than a frame apart, as a rule, once a busy machine plays at all.
    const drifts: number[] = [];
    const medianOfLastFive = async () => {
      const [main, other] = (await times()) as [number, number];
      drifts.push(Math.abs(main - other));
      return drifts.length < 5 ? Number.POSITIVE_INFINITY : drifts.slice(-5).sort((first, second) => first - second)[2];
    };
    await expect.poll(medianOfLastFive, { interval: 150 }).toBeLessThan(0.04);
    await divider.press('k');
    await page.getByRole('button', { name: 'Play' }).waitFor();
    const [start, same] = (await times()) as [number, number];
    expect(same).toBeCloseTo(start, 3);
    await divider.press('.');
    await divider.press('.');
    const clock = page.locator('.viewer-clock');
    const frame = Number(await clock.getAttribute('data-frame'));
    expect(frame).toBe(Math.floor(start * 25 + 1e-3) + 2);
    await divider.press(',');
    expect(Number(await clock.getAttribute('data-frame'))).toBe(frame - 1);
    const [main, other] = (await times()) as [number, number];
    expect([main, other]).toEqual([expect.closeTo((frame - 0.5) / 25, 3), expect.closeTo((frame - 0.5) / 25, 3)]);
  });

  it('zooms where asked, alike in both pictures', async () => {
    const { page } = customer;
    const divider = page.getByRole('slider', { name: 'Divider between before and after' });
    await divider.press('+');
    await divider.press('d');
    const transforms = await page.evaluate(() => [...document.querySelectorAll('video')].map((video) => video.style.transform));
    expect(transforms[0]).toContain('scale(1.5)');
    expect(transforms[0]).toContain('translate(-15%');
    expect(transforms[1]).toBe(transforms[0]);
    await divider.press('0');
    expect(await page.getByRole('button', { name: '100 %' }).isVisible()).toBe(true);
    expect(await axeViolations(page)).toEqual([]);
  });

  it('is downloaded whole', async () => {
    const { page } = customer;
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    const path = await download.path();
    const bytes = await readFile(path);
    expect(download.suggestedFilename()).toMatch(/\.mp4$/);
    expect(await page.getByText(createHash('sha256').update(bytes).digest('hex')).count()).toBe(1);
    expect((await ffprobe(path)).streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, height: 1080 });
  });

  it('is deleted, and its certificate is verified here and by the service’s own verifier', async () => {
    const { page } = customer;
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('The job is deleted.').waitFor();
    await page.getByText('The signature is valid.').waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save' }).click()]);
    const jws = await readFile(await download.path(), 'utf8');
    const keys = (await (await fetch(`${world.service.url}/.well-known/jwks.json`)).json()) as Parameters<typeof verifyCertificate>[1];
    const payload = await verifyCertificate(jws, keys);
    expect(page.url()).toContain(payload.job_id);
    expect(payload.objects.map(({ role }) => role).sort()).toEqual(['original', 'output']);
    expect(await axeViolations(page)).toEqual([]);
    await page.goto(`${world.url}/secure?tab=certificates`);
    await page.getByRole('button', { name: `Verify the certificate of ${payload.job_id}` }).click();
    await page.getByText('The signature is valid.').waitFor();
  });

  it('is in the audit log, which verifies in the browser', async () => {
    const { page } = customer;
    await page.goto(`${world.url}/secure`);
    await page.getByText('job.deleted').first().waitFor();
    await page.getByRole('button', { name: 'Verify here' }).click();
    await page.getByText('The log is complete and unchanged.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });
});

describe('a file from this computer', () => {
  it('is sent with its progress, enhanced, and shown alone where the browser cannot play the source', async () => {
    const { page } = customer;
    const clip = join(world.site.dataDir, 'old-camera.mpg');
    await makeClip(clip, { seconds: 1, args: ['-c:v', 'mpeg2video', '-b:v', '2M'], audio: ['-c:a', 'mp2'] });
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    await page.getByLabel('Video files').setInputFiles(clip);
    await page.getByText('old-camera.mpg').waitFor();
    await page.getByText('320 × 180, mpeg2video').waitFor();
    await page.getByLabel('Quality').selectOption({ label: 'Smaller file (CRF 20)' });
    await page.getByText('Enhancements, bitrate and webhook').click();
    await page.getByLabel('Poster and thumbnails').check();
    await page.getByText(/^[\d.]+ [kM]B to [\d.]+ [kM]B/).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Enhance', exact: true }).click();
    await page.getByText('This browser cannot play the source’s format').waitFor();
    await page.getByRole('region', { name: 'Player' }).waitFor();
    await page.waitForFunction(() => document.querySelector('video')!.readyState >= 2);
    await page.getByText(/H\.264 in MP4, CRF 20$/).waitFor();
    await page.getByText('Uploaded file').waitFor();
    // Faces were planned, and there are none.
    await page.getByText('no face found').waitFor();
    await page.getByRole('img', { name: /^Poster, / }).scrollIntoViewIfNeeded();
    await page.waitForFunction(() => {
      const pictures = [...document.querySelectorAll<HTMLImageElement>('.pictures img')];
      return pictures.length === 6 && pictures.every(({ complete, naturalWidth }) => complete && naturalWidth > 0);
    });
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('The job is deleted.').waitFor();
  });

  it('may be one of several, which are priced together and become a job each', async () => {
    const { page } = customer;
    const clips = [join(world.site.dataDir, 'first.mp4'), join(world.site.dataDir, 'second.mp4')];
    for (const clip of clips) await makeClip(clip, { video: 'testsrc2=size=320x180:rate=5', seconds: 1, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    await page.getByLabel('Video files').setInputFiles(clips);
    for (const name of ['first.mp4', 'second.mp4']) await page.getByRole('button', { name: `Remove ${name}` }).waitFor();
    await page.getByText('6 credits').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    const posted = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/console/api/jobs'));
    await page.getByRole('button', { name: 'Enhance (2 videos)' }).click();
    // Each of the two may cost what was shown for it, and no more.
    expect((await posted).postDataJSON()).toMatchObject({ mode: 'live', request: { max_credits: 3 } });
    await page.waitForURL(`${world.url}/jobs`);
    for (const name of ['first.mp4', 'second.mp4']) await page.getByText(name).first().waitFor();
    // A file that was removed is forgotten.
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    await page.getByLabel('Video files').setInputFiles(clips);
    await page.getByRole('button', { name: 'Remove first.mp4' }).click();
    await page.getByText(/^3 credits/).waitFor();
    expect(await page.getByText('first.mp4').count()).toBe(0);
  });

  it('that is no video is refused in one sentence, before anything is charged', async () => {
    const { page } = customer;
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    await page.getByLabel('Video files').setInputFiles({ name: 'letter.mp4', mimeType: 'video/mp4', buffer: Buffer.from('Dear Sir or Madam') });
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('button', { name: 'Enhance', exact: true }).isDisabled()).toBe(true);
  });
});

describe('the whole way of one video', () => {
  const listened = { text: '' };
  let listening: Promise<Outcome>;
  let stranger: Tab;

  it('begins with signing up, being let in, and a key for reelmend listen', async () => {
    stranger = await openTab(world);
    const { page } = stranger;
    await signUp(stranger, world, 'mary@example.com', 'Somerville');
    await letIn(operator, 'Somerville');
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    await page.getByRole('radio', { name: 'Live' }).check();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const key = (await page.locator('dialog [data-secret]').textContent())!;
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const env = { PATH: process.env['PATH']!, HOME: world.site.dataDir, REELMEND_URL: world.service.url, REELMEND_API_KEY: key };
    listening = runCommand(['listen', '--events', '1'], { env, onStdout: (text) => (listened.text += text) });
    await eventually(() => listened.text.includes('Waiting for the events of new jobs.'));
  });

  it('goes on with a dropped file, a preview, and the video made like it', async () => {
    const { page } = stranger;
    const clip = join(world.site.dataDir, 'walk.mp4');
    await makeClip(clip, { video: 'testsrc2=size=160x90:rate=10', seconds: 2, audio: null, args: ['-c:v', 'libx264', '-crf', '35', '-pix_fmt', 'yuv420p'] });
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    await page.getByLabel('Secure tier').check();
    await dropFiles(page, [clip]);
    await page.getByText('160 × 90, h264').waitFor();
    await page.getByRole('button', { name: /^Make a preview \(\d+ credits\)$/ }).click();
    const preview = page.getByRole('region', { name: 'Preview', exact: true });
    await preview.locator('video').first().waitFor();
    expect(await preview.locator('figcaption').allTextContents()).toEqual(['Original', '1080p, automatic']);
    await preview.getByRole('button', { name: 'Make the whole video with this' }).click();
    await page.waitForURL(/\/jobs\/job_/);
  });

  it('is compared, downloaded and told to reelmend listen', async () => {
    const { page } = stranger;
    await page.getByRole('region', { name: 'Before and after' }).waitFor();
    await page.waitForFunction(() => [...document.querySelectorAll('video')].every((video) => video.readyState >= 3));
    const divider = page.getByRole('slider', { name: 'Divider between before and after' });
    const look = async (key: string) => {
      await divider.press(key);
      return pixelsOf(await page.locator('.stage').screenshot());
    };
    expect(meanDifference(await look('Home'), await look('End'), 0, 1)).toBeGreaterThan(0.3);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    expect(download.suggestedFilename()).toBe('walk-1080p.mp4');
    expect((await ffprobe(await download.path())).streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, nb_read_frames: '20' });
    const { status, stdout } = await listening;
    expect([status, stdout.split('\n')[1]]).toEqual([0, `job.completed  ${page.url().split('/').at(-1)}`]);
  });

  it('ends with its deletion, and a certificate that the command line verifies', async () => {
    const { page, complaints } = stranger;
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('The signature is valid.').waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save' }).click()]);
    const jwks = `${world.service.url}/.well-known/jwks.json`;
    const { status, stdout } = await runCommand(['verify', 'certificate', await download.path(), '--jwks', jwks], { env: {} });
    expect(status).toBe(0);
    const { result, certificate } = JSON.parse(stdout) as { result: string; certificate: { job_id: string; objects: { role: string }[] } };
    expect([result, certificate.job_id]).toEqual(['verified', page.url().split('/').at(-1)]);
    expect(certificate.objects.map(({ role }) => role).sort()).toEqual(['original', 'output', 'upload']);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
