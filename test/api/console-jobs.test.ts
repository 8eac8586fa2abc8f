/** Jobs in the console: lists, one in full, links for players, deletion. */
import { describe, expect, it } from 'vitest';
import type { ConsoleJobDetail, ConsoleJobLinks, ConsoleJobList, JobDeletion } from '../../src/contract/types.gen.ts';
import type { ConsoleWorld, Person } from '../helpers/console.ts';
import { setUpConsole } from '../helpers/console-suite.ts';
import { endJob, ingestJob, makeJob } from '../helpers/console-jobs.ts';
import { publicUrl } from '../helpers/http.ts';
import { auditEntries } from '../helpers/worker-world.ts';

let world: ConsoleWorld;
let ours: Person;
let stranger: Person;
setUpConsole({ ours: 100_000, stranger: 1000 }, (...made) => ([world, ours, stranger] = made));

describe('the list', () => {
  it('has both modes, newest first, in pages, filtered by mode, state and part of the id', async () => {
    const person = await world.person({ credits: 1000 });
    const made: string[] = [];
    for (const mode of ['live', 'test', 'live', 'test', 'test'] as const) {
      made.unshift((await makeJob(world, person.accountId, { mode })).id);
    }
    await endJob(world, made[4]!, 'done');
    await person.browser.call(`/console/api/jobs/${made[2]!}`, { method: 'DELETE' });
    const list = async (query: string) => {
      const page = await person.browser.call<ConsoleJobList>(`/console/api/jobs?${query}`);
      return { ids: page.data.map(({ id }) => id), next: page.next_cursor };
    };
    const left = made.filter((id) => id !== made[2]);
    const first = await list('limit=3');
    expect(first).toEqual({ ids: left.slice(0, 3), next: left[2] });
    expect(await list(`limit=3&starting_after=${first.next!}`)).toEqual({ ids: left.slice(3), next: null });
    expect((await list('mode=live')).ids).toEqual([made[4]]);
    expect((await list('mode=test')).ids).toEqual([made[0], made[1], made[3]]);
    expect((await list('status=done')).ids).toEqual([made[4]]);
    expect((await list(`q=${made[3]!.slice(-9)}`)).ids).toEqual([made[3]]);
    expect((await list('q=zzzz_zzz')).ids).toEqual([]);
    expect((await stranger.browser.call<ConsoleJobList>('/console/api/jobs')).data).toEqual([]);
  });

  it('is searched by the names of videos, and by ids in upper case', async () => {
    const person = await world.person({ credits: 1000 });
    const add = (videoUrl: string, more = {}) => makeJob(world, person.accountId, { videoUrl, ...more });
    const escaped = await add('https://media.example.com/some/Sommer%20in%20K%C3%B6ln.mp4?token=canary');
    const plain = await add('https://media.example.com/summer_100%25.mov#t=1', { mode: 'test' });
    const bare = await add('https://films.example.com/');
    await endJob(world, bare.id, 'error');
    const find = async (q: string, more = '') =>
      (await person.browser.call<ConsoleJobList>(`/console/api/jobs?q=${encodeURIComponent(q)}${more}`)).data.map(({ id }) => id);
    expect(await find('sommer IN k')).toEqual([escaped.id]);
    expect(await find('Köln')).toEqual([escaped.id]);
    expect(await find('.m')).toEqual([plain.id, escaped.id]);
    expect(await find('100%')).toEqual([plain.id]);
    expect(await find('SUMMER_', '&mode=test')).toEqual([plain.id]);
    expect(await find('summer', '&mode=live')).toEqual([]);
    expect(await find('films.example')).toEqual([bare.id]);
    expect(await find('films', '&status=error')).toEqual([bare.id]);
    expect(await find('sommer', '&status=error')).toEqual([]);
    expect(await find('sommer', '&status=queued')).toEqual([escaped.id]);
    expect(await find(escaped.id.slice(-9).toUpperCase())).toEqual([escaped.id]);
    for (const none of ['canary', '_100_', 's%r', "'", '\\']) expect(await find(none), none).toEqual([]);
    await person.browser.call(`/console/api/jobs/${escaped.id}`, { method: 'DELETE' });
    expect(await find('sommer')).toEqual([]);
    expect(await world.sql`SELECT 1 FROM job_names WHERE job_id = ${escaped.id}`).toEqual([]);
    expect((await person.browser.request('/console/api/jobs?q=%00')).status).toBe(400);
  });

  it('is searched by the names as they are shown, not by the escapes of URLs', async () => {
    const person = await world.person({ credits: 1000 });
    const add = async (segment: string) => (await makeJob(world, person.accountId, { videoUrl: `https://media.example.com/${segment}` })).id;
    const find = async (q: string) =>
      (await person.browser.call<ConsoleJobList>(`/console/api/jobs?q=${encodeURIComponent(q)}`)).data.map(({ id }) => id);
    const long = '日本の長い名前'.repeat(12);
    const [comma, plain, upper, japanese, latin1, stray, zero] = [
      await add('Day%201,%20Paris.mp4'), await add('my%20film.mov'), await add('K%C3%96LN.mp4'), await add(encodeURIComponent(`${long}最後.mp4`)),
      await add('K%F6ln%20old.avi'), await add('50%%20off.avi'), await add('a%00b.webm'),
    ];
    expect(await find('Day 1, Paris')).toEqual([comma]);
    expect(await find('day 1%2C')).toEqual([]);
    expect(await find('my FILM')).toEqual([plain]);
    expect(await find('%20f')).toEqual([]);
    for (const q of ['köln', 'KÖLN', 'Köln.MP4']) expect(await find(q), q).toEqual([upper]);
    expect(await find('最後')).toEqual([japanese]);
    // As macOS writes it: each accent is a character of its own.
    const apart = await add(encodeURIComponent('Café am Meer.mov'.normalize('NFD')));
    for (const form of ['NFC', 'NFD'] as const) {
      expect(await find('CAFÉ am'.normalize(form)), form).toEqual([apart]);
      expect(await find('köln.mp4'.normalize(form)), form).toEqual([upper]);
    }
    // As they are shown: what is not UTF-8 has its escapes.
    expect(await find('k%f6ln%20old')).toEqual([latin1]);
    expect(await find('50%%20')).toEqual([stray]);
    expect(await find('.webm')).toEqual([zero]);
  });

  it('names the source without its query', async () => {
    const job = await makeJob(world, ours.accountId);
    const { data } = await ours.browser.call<ConsoleJobList>(`/console/api/jobs?q=${job.id}`);
    expect(data[0]).toMatchObject({ source_name: 'holiday film.mp4', mode: 'live', status: 'queued' });
  });
});

describe('a job in full', () => {
  it('has what was asked for, its timeline in words, and its charges', async () => {
    const job = await makeJob(world, ours.accountId, { credits: 30, enhancements: { sharpen: 0.4 }, model: 'none' });
    await endJob(world, job.id, 'done');
    const detail = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${job.id}`);
    expect(detail).toMatchObject({
      mode: 'live',
      video_url: job.videoUrl,
      model: 'none',
      requested: { sharpen: 0.4 },
      job: { status: 'done', output: { width: 1920 } },
      error_help: null,
      charges: [{ kind: 'charge', amount: -30 }],
    });
    expect(detail.timeline.map(({ kind }) => kind)).toEqual(['job.created', 'job.started', 'job.completed']);
    for (const { text, kind } of detail.timeline) expect(text, kind).toMatch(/^[A-Z].*\.$/);
  });

  it('says what to do about an error, and shows the refund', async () => {
    const job = await makeJob(world, ours.accountId, { credits: 30 });
    await endJob(world, job.id, 'error');
    const detail = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${job.id}`);
    const error = { code: 'processing_failed', message: 'The video could not be processed.', doc_url: `${publicUrl}/docs/errors#processing_failed` };
    expect(detail.job.error).toEqual(error);
    expect((await ours.browser.call<ConsoleJobList>('/console/api/jobs')).data.find(({ id }) => id === job.id)?.error).toEqual(error);
    expect(detail.error_help).toMatch(/^Submit the job again/);
    expect(detail.timeline.at(-1)?.text).toBe('The job failed; its credits were refunded.');
    expect(detail.charges.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['charge', -30],
      ['refund', 30],
    ]);
  });

  it('says that a test job failed because its name requests it', async () => {
    const job = await makeJob(world, ours.accountId, { mode: 'test' });
    const { fence } = (await world.store.leases.acquire(job.id, 'test_mode', 'worker-of-tests', 60))!;
    await world.store.leases.fail(fence, { code: 'processing_failed', message: 'The URL of this test job asks for a failure.' });
    const { error_help, timeline } = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${job.id}`);
    expect(error_help).toBe('The name of the video requests this error; any other name succeeds.');
    // It was free, so no money came back.
    expect(timeline.at(-1)?.text).toBe('The job failed.');
  });

  it('of another account, or deleted, is not there', async () => {
    const job = await makeJob(world, ours.accountId);
    const paths = [`/console/api/jobs/${job.id}`, `/console/api/jobs/${job.id}/links`];
    for (const path of paths) expect((await stranger.browser.request(path)).status, path).toBe(404);
    expect((await stranger.browser.request(paths[0]!, { method: 'DELETE' })).status).toBe(404);
    await ours.browser.call(paths[0]!, { method: 'DELETE' });
    for (const path of paths) expect((await ours.browser.request(path)).status, path).toBe(404);
  });
});

describe('links for players', () => {
  it('appear as the files do, play ranges, and are in the audit log', async () => {
    const job = await makeJob(world, ours.accountId);
    const path = `/console/api/jobs/${job.id}/links`;
    expect(await ours.browser.call(path)).toEqual({ result: null, source: null, pictures: [] });
    await ingestJob(world, job.id);
    const early = await ours.browser.call<ConsoleJobLinks>(path);
    expect(early).toMatchObject({ result: null, source: { expires_in: 3600, size_bytes: 12 } });
    const accesses = async (jobId: string) =>
      (await auditEntries(world.store, { accountId: ours.accountId, jobId, limit: 10 })).filter(({ kind }) => kind.endsWith('.accessed')).map(({ kind, data }) => ({ kind, data }));
    const access = (kind: string) => ({ kind, data: { user_id: ours.userId } });
    await ours.browser.call(path);
    expect((await ours.browser.request(path, { method: 'HEAD' })).status).toBe(200);
    expect(await accesses(job.id)).toEqual([access('source.accessed')]);
    const done = await makeJob(world, ours.accountId);
    await endJob(world, done.id, 'done');
    const links = await ours.browser.call<ConsoleJobLinks>(`/console/api/jobs/${done.id}/links`);
    const texts = { result: 'the enhanced one', source: 'the original' };
    for (const name of ['result', 'source'] as const) {
      const { url, size_bytes } = links[name]!;
      expect(url).toMatch(/^\/v1\/downloads\//);
      expect(size_bytes).toBe(texts[name].length);
      const played = await world.app.request(url, { headers: { Range: 'bytes=4-' } });
      expect(played.status).toBe(206);
      expect(played.headers.get('content-type')).toBe('video/mp4');
      expect(await played.text()).toBe(texts[name].slice(4));
    }
    const events = await auditEntries(world.store, { accountId: ours.accountId, jobId: done.id, limit: 10 });
    expect(events[0]).toMatchObject({ kind: 'result.accessed', data: { user_id: ours.userId } });
    expect(events.filter(({ kind }) => kind === 'result.accessed')).toHaveLength(1);
    expect(await accesses(done.id)).toEqual([access('result.accessed'), access('source.accessed')]);
  });

  it('show the pictures of a result', async () => {
    const job = await makeJob(world, ours.accountId);
    await endJob(world, job.id, 'done', { poster: true });
    const { pictures } = await ours.browser.call<ConsoleJobLinks>(`/console/api/jobs/${job.id}/links`);
    expect(pictures).toMatchObject([
      { kind: 'poster', time: 1.5, width: 1280, height: 720, link: { file_name: `${job.id}-1080p-poster.jpg`, size_bytes: 10 } },
    ]);
    const shown = await world.app.request(pictures[0]!.link.url);
    expect(shown.headers.get('content-type')).toBe('image/jpeg');
    expect(await shown.text()).toBe('the poster');
  });

  it('of a failed job are none', async () => {
    const job = await makeJob(world, ours.accountId);
    await endJob(world, job.id, 'error');
    expect(await ours.browser.call(`/console/api/jobs/${job.id}/links`)).toEqual({ result: null, source: null, pictures: [] });
  });
});

describe('deleting', () => {
  it('gives back what was charged, and the certificate of a Secure job when it is there', async () => {
    const job = await makeJob(world, ours.accountId, { credits: 30, tier: 'secure' });
    const deletion = await ours.browser.call<JobDeletion>(`/console/api/jobs/${job.id}`, { method: 'DELETE' });
    expect(deletion).toMatchObject({ id: job.id, refunded_credits: 30, certificate: null });
  });
});
