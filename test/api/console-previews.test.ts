/** Previews in the console: those of the account in both modes, like those of its keys. */
import { expect, it } from 'vitest';
import type { ConsolePreview, ConsolePreviewList, Preview, PreviewDeletion } from '../../src/contract/types.gen.ts';
import type { ConsoleWorld, Person } from '../helpers/console.ts';
import { setUpConsole } from '../helpers/console-suite.ts';
import { errorOf } from '../helpers/http.ts';

const request = { video_url: 'https://media.example.com/holiday.mp4', settings: [{ resolution: '1080p' }] };

let world: ConsoleWorld;
let ours: Person;
let stranger: Person;
setUpConsole({ ours: 100 }, (...made) => ([world, ours, stranger] = made));

const create = (json: object, headers: Record<string, string> = {}) => ours.browser.request('/console/api/previews', { method: 'POST', json, headers });

it.each(['test', 'live'] as const)('are made in %s mode, read and deleted by their account alone, and are no jobs', async (mode) => {
  const created = await create({ mode, request });
  expect(created.status).toBe(201);
  const { id, sandbox, credits_charged } = (await created.json()) as Preview;
  expect([sandbox, credits_charged]).toEqual(mode === 'test' ? [true, 0] : [false, 18]);
  const path = `/console/api/previews/${id}`;
  const shown = { preview: { id, status: 'queued', settings: request.settings, stretches: null }, mode, source_name: 'holiday.mp4', video_url: request.video_url };
  expect(await ours.browser.call<ConsolePreview>(path)).toMatchObject(shown);
  expect((await ours.browser.call<ConsolePreviewList>('/console/api/previews')).data).toMatchObject([shown]);
  expect((await stranger.browser.call<ConsolePreviewList>('/console/api/previews')).data).toEqual([]);
  expect(await ours.browser.call('/console/api/jobs')).toMatchObject({ data: [] });
  for (const method of ['GET', 'DELETE']) expect((await stranger.browser.request(path, { method })).status).toBe(404);
  const deletion = await ours.browser.call<PreviewDeletion>(path, { method: 'DELETE' });
  expect(deletion).toMatchObject({ id, deleted: true, refunded_credits: credits_charged });
  expect((await ours.browser.request(path)).status).toBe(404);
  expect((await ours.browser.call<ConsolePreviewList>('/console/api/previews')).data).toEqual([]);
});

it('are listed with both modes together, newest first, page by page', async () => {
  const { browser } = await world.person({ credits: 100 });
  const ids: string[] = [];
  for (const mode of ['live', 'test', 'live'] as const) {
    const made = await browser.request('/console/api/previews', { method: 'POST', json: { mode, request } });
    ids.unshift(((await made.json()) as Preview).id);
  }
  const page = (query: string) => browser.call<ConsolePreviewList>(`/console/api/previews?limit=2${query}`);
  const first = await page('');
  expect([first.data.map(({ preview }) => preview.id), first.has_more]).toEqual([ids.slice(0, 2), true]);
  const rest = await page(`&starting_after=${first.next_cursor}`);
  expect([rest.data.map(({ preview }) => preview.id), rest.next_cursor]).toEqual([ids.slice(2), null]);
});

it('are refused as those of keys are, with the field inside of the request', async () => {
  for (const [change, status, code, param] of [
    [{ settings: [] }, 400, 'invalid_request', '/request/settings'],
    [{ max_credits: 17 }, 402, 'max_credits_exceeded', '/request/max_credits'],
    [{ video_url: undefined, upload_id: 'upl_01jdq4s9xkf5v8t2m6w0c3rhbz' }, 404, 'upload_not_found', '/request/upload_id'],
  ] as const) {
    const response = await create({ mode: 'live', request: { ...request, ...change } });
    expect(response.status).toBe(status);
    expect(await errorOf(response)).toMatchObject({ code, param });
  }
  const headers = { 'Idempotency-Key': 'preview-1' };
  expect((await create({ mode: 'test', request }, headers)).status).toBe(201);
  expect((await create({ mode: 'test', request: { ...request, secure: true } }, headers)).status).toBe(409);
});
