/** The account's credit transfers and its usage, over the API. */
import { describe, expect, it } from 'vitest';
import type { Ledger, Usage } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { type Api, errorOf, makeApi, type RequestOptions } from '../helpers/http.ts';

async function read<T>(api: Api, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await api.request(path, options);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

const job = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
const createJob = async (api: Api) => ((await (await api.request('/v1/jobs', { method: 'POST', json: job })).json()) as { id: string; credits_charged: number });

/** Adds a job with its charge at that time, and its refund. */
async function addCharge(api: Api, { at, seconds, refundedAt }: { at: string; seconds: number; refundedAt?: string }): Promise<void> {
  const sql = await api.store.sql();
  const { id, accountId } = await api.store.addJob({ id: newId('job'), durationSeconds: seconds, creditsCharged: 3 * seconds });
  await sql.begin(async (tx) => {
    // A history of months, which triggers would refuse as unbalanced.
    await tx`SET LOCAL session_replication_role = replica`;
    const transfer = (kind: string, time: string) => tx`INSERT INTO ledger_transfers (kind, account_id, job_id, credits, at) VALUES (${kind}, ${accountId}, ${id}, ${3 * seconds}, ${time})`;
    await transfer('charge', at);
    if (refundedAt !== undefined) await transfer('refund', refundedAt);
  });
}

describe('GET /v1/ledger', () => {
  it('lists every transfer with the balance after it, newest first, page by page', async () => {
    const api = makeApi();
    const first = await createJob(api);
    const second = await createJob(api);
    await api.request(`/v1/jobs/${first.id}`, { method: 'DELETE' });
    const charge = first.credits_charged;
    const page = await read<Ledger>(api, '/v1/ledger?limit=3');
    expect(page.data.map(({ kind, amount, balance, job_id: id }) => [kind, amount, balance, id])).toEqual([
      ['refund', charge, 10_000 - charge, first.id],
      ['charge', -charge, 10_000 - 2 * charge, second.id],
      ['charge', -charge, 10_000 - charge, first.id],
    ]);
    expect(page).toMatchObject({ has_more: true, next_cursor: page.data[2]!.id });
    const rest = await read<Ledger>(api, `/v1/ledger?starting_after=${page.next_cursor}`);
    expect(rest).toMatchObject({ data: [{ kind: 'grant', amount: 10_000, balance: 10_000, job_id: null }], has_more: false, next_cursor: null });
  });

  it('is empty in test mode, and has nothing of other accounts', async () => {
    const api = makeApi();
    await createJob(api);
    expect(await read<Ledger>(api, '/v1/ledger', { key: api.keys.test })).toEqual({ data: [], has_more: false, next_cursor: null });
    const { data } = await read<Ledger>(makeApi(), '/v1/ledger');
    expect(data.map(({ kind }) => kind)).toEqual(['grant']);
  });

  it('is for keys that may read', async () => {
    const api = makeApi();
    const [reader, creator] = (['read_only', 'create_only'] as const).map((access) => api.store.addKey('live', 'standard', { access }));
    for (const path of ['/v1/ledger', '/v1/usage']) {
      expect((await api.request(path, { key: reader! })).status).toBe(200);
      expect((await api.request(path, { key: creator! })).status).toBe(403);
    }
  });
});

it.each(['/v1/ledger?limit=0', '/v1/ledger?starting_after=ltr', '/v1/usage?interval=week'])('%s is refused', async (path) => {
  const response = await makeApi().request(path);
  expect(response.status).toBe(400);
  expect((await errorOf(response)).code).toBe('invalid_request');
});

describe('GET /v1/usage', () => {
  it('has the last 30 days by default, with those without jobs', async () => {
    const api = makeApi();
    const { credits_charged: charged } = await createJob(api);
    const { data } = await read<Usage>(api, '/v1/usage');
    expect(data).toHaveLength(30);
    const today = new Date().toISOString().slice(0, 10);
    expect(data.at(-1)).toEqual({ period: today, jobs: 1, seconds: expect.any(Number) as number, credits: charged, refunded: 0 });
    expect(data[0]).toMatchObject({ jobs: 0, seconds: 0, credits: 0, refunded: 0 });
    const inTestMode = await read<Usage>(api, '/v1/usage', { key: api.keys.test });
    expect(inTestMode.data.at(-1)).toEqual({ period: today, jobs: 0, seconds: 0, credits: 0, refunded: 0 });
  });

  it('sums days and months (UTC), a refund when it was made', async () => {
    const api = makeApi();
    await addCharge(api, { at: '2026-01-31T23:59:59.9999Z', seconds: 10, refundedAt: '2026-02-01T00:00:00Z' });
    await addCharge(api, { at: '2026-02-01T00:00:00Z', seconds: 20 });
    await addCharge(api, { at: '2026-02-01T05:00:00Z', seconds: 1 });
    const days = await read<Usage>(api, '/v1/usage?from=2026-01-31&to=2026-02-02');
    expect(days.data).toEqual([
      { period: '2026-01-31', jobs: 1, seconds: 10, credits: 30, refunded: 0 },
      { period: '2026-02-01', jobs: 2, seconds: 21, credits: 63, refunded: 30 },
      { period: '2026-02-02', jobs: 0, seconds: 0, credits: 0, refunded: 0 },
    ]);
    const months = await read<Usage>(api, '/v1/usage?interval=month&from=2025-12-15&to=2026-02-01');
    expect(months.data.map(({ period, jobs }) => [period, jobs])).toEqual([['2025-12', 0], ['2026-01', 1], ['2026-02', 2]]);
    // The parts of months at both ends.
    expect((await read<Usage>(api, '/v1/usage?interval=month&from=2026-02-01&to=2026-02-01')).data).toEqual([{ period: '2026-02', jobs: 2, seconds: 21, credits: 63, refunded: 30 }]);
    expect((await read<Usage>(api, '/v1/usage?interval=month&from=2026-01-01&to=2026-01-30')).data).toEqual([{ period: '2026-01', jobs: 0, seconds: 0, credits: 0, refunded: 0 }]);
    const year = await read<Usage>(api, '/v1/usage?interval=month&to=2026-02-28');
    expect(year.data.map(({ period }) => period)).toEqual(['2025-03', '2025-04', '2025-05', '2025-06', '2025-07', '2025-08', '2025-09', '2025-10', '2025-11', '2025-12', '2026-01', '2026-02']);
    expect((await read<Usage>(api, '/v1/usage?from=2025-02-01&to=2026-02-02')).data).toHaveLength(367);
  });

  it.each(['', 'from=2025-02-01&to=2026-02-02', 'from=2024-02-29&to=2024-02-29', 'interval=month', 'interval=month&from=2025-12-15&to=2026-02-01'])(
    'has the same periods in test mode: ?%s',
    async (query) => {
      const api = makeApi();
      const [live, test] = [await read<Usage>(api, `/v1/usage?${query}`), await read<Usage>(api, `/v1/usage?${query}`, { key: api.keys.test })];
      expect(live.data.length).toBeGreaterThan(0);
      expect(test).toEqual(live);
    },
  );

  it.each([
    ['from=2026-02-02&to=2026-02-01', '/from', '"from" is after "to".'],
    ['from=9999-12-31', '/from', '"from" is after today (UTC).'],
    ['from=2025-01-31&to=2026-02-02', '/from', '"from" must be at most 366 days before "to".'],
    ['from=2026-02-30', '/from', 'The query parameter "from" must be a day, such as 2026-11-21.'],
    ['to=0000-01-01', '/to', undefined],
    ['to=2026-1-1', '/to', 'The query parameter "to" must be a day, such as 2026-11-21.'],
    ['interval=week', '/interval', 'The query parameter "interval" must be "day" or "month".'],
  ])('400 for ?%s', async (query, param, message) => {
    const response = await makeApi().request(`/v1/usage?${query}`);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', param, ...(message === undefined ? {} : { message }) });
  });
});
