/** The console's pages for operators, over a real database. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type {
  Ledger,
  ConsoleNewKey,
  OperatorAccount,
  OperatorAccountList,
  OperatorFailureList,
  OperatorOverview,
  OperatorWorkerList,
} from '../../src/contract/types.gen.ts';
import { hashApiKey } from '../../src/domain/api-key.ts';
import { newId } from '../../src/domain/ids.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { errorOf, pepper } from '../helpers/http.ts';
import { endJob, liveJob } from '../helpers/console-jobs.ts';
import { auditEntries } from '../helpers/worker-world.ts';

let world: ConsoleWorld;
let ours: Person;
let stranger: Person;
let operator: Person;

beforeAll(async () => {
  world = await makeConsole();
  [ours, stranger, operator] = await Promise.all([
    world.person({ credits: 10_000 }),
    world.person({ credits: 10_000 }),
    world.person({ operator: true }),
  ]);
});
beforeEach(() => world.sql`DELETE FROM rate_limits`);
afterAll(() => world.close());

const lastEvent = async (accountId: string) => (await auditEntries(world.store, { accountId, limit: 1 }))[0]!;

describe('operator pages', () => {
  it('accounts by state with their people, newest first; approve, reject, grant, with who did it', async () => {
    const person = await world.person({ approved: false });
    const { browser } = operator;
    const pending = await browser.call<OperatorAccountList>('/console/api/operator/accounts?state=pending');
    expect(pending.data[0]).toMatchObject({ id: person.accountId, emails: [person.email], active_keys: 0 });
    const path = `/console/api/operator/accounts/${person.accountId}`;
    for (const decision of ['approved', 'rejected'] as const) {
      const account = await browser.post<OperatorAccount>(`${path}/decision`, { decision });
      expect(account.approval_status).toBe(decision);
      expect(await lastEvent(person.accountId)).toMatchObject({
        kind: `account.${decision}`,
        data: { operator_id: operator.userId },
      });
    }
    const granted = await browser.post<OperatorAccount>(`${path}/grants`, { credits: 250, note: 'welcome' });
    expect(granted.credits).toBe(250);
    expect(await lastEvent(person.accountId)).toMatchObject({
      kind: 'credits.granted',
      data: { credits: 250, operator_id: operator.userId },
    });
    const ledger = await person.browser.call<Ledger>('/console/api/ledger');
    expect(ledger.data).toMatchObject([{ kind: 'grant', amount: 250, note: 'welcome' }]);
    expect(await world.store.ledgerCheck()).toEqual([]);
    const first = await browser.call<OperatorAccountList>('/console/api/operator/accounts?limit=2');
    const second = await browser.call<OperatorAccountList>(
      `/console/api/operator/accounts?limit=2&starting_after=${first.next_cursor!}`,
    );
    const ids = [...first.data, ...second.data].map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(new Set(ids).size).toBe(4);
  });

  it('accounts by a part of their name or of an email, or the beginning of their id', async () => {
    const { id } = await world.store.accounts.create({ name: '50% Café_Films' });
    const person = await world.person({ approved: false });
    const closed = await world.person({});
    await world.store.accounts.close(closed.accountId);
    const find = async (q: string, more = '') =>
      (await operator.browser.call<OperatorAccountList>(`/console/api/operator/accounts?q=${encodeURIComponent(q)}${more}`)).data.map((account) => account.id);
    for (const q of ['CAFé_films', '50% c', '%', id, id.toUpperCase(), id.slice(0, -1)]) expect(await find(q), q).toEqual([id]);
    expect(await find(person.email.toUpperCase())).toEqual([person.accountId]);
    expect(await find(person.email, '&state=pending')).toEqual([person.accountId]);
    for (const [q, more] of [[person.email, '&state=approved'], [closed.email], [closed.accountId], [id.slice(5)], ['nobody@nowhere']] as const) {
      expect(await find(q, more), q).toEqual([]);
    }
    const pages = await find('acct_', '&limit=1');
    const [next] = await find('acct_', `&limit=1&starting_after=${pages[0]!}`);
    expect(next! < pages[0]!).toBe(true);
    for (const q of ['', 'x'.repeat(255), 'a\0b']) {
      const response = await operator.browser.request(`/console/api/operator/accounts?q=${encodeURIComponent(q)}`);
      expect([response.status, (await errorOf(response)).code], q).toEqual([400, 'invalid_request']);
    }
  });

  it('queue, open jobs and what waits', async () => {
    const before = await operator.browser.call<OperatorOverview>('/console/api/operator/overview');
    await liveJob(world, ours.accountId, {});
    const after = await operator.browser.call<OperatorOverview>('/console/api/operator/overview');
    expect(after.jobs.queued).toBe(before.jobs.queued + 1);
    const waiting = ({ queue }: OperatorOverview) => queue.find(({ task }) => task === 'job_ingest')?.waiting ?? 0;
    expect(waiting(after)).toBe(waiting(before) + 1);
    expect(after.jobs.oldest_queued_seconds).not.toBeNull();
  });

  it('workers with their devices and what they work on', async () => {
    const id = 'worker-1-abc';
    await world.store.workers.heartbeat(id, []);
    const device = { id: 'cpu', name: 'CPU', usable: true, reason: '', threads: 2, simd: 'avx2', encoder: 'libx264', inference: [] };
    await world.store.workers.describe(id, { host: 'gpu-1', concurrency: 2, devices: [device], deviceClasses: ['cpu'], engine: 'an engine' });
    await world.store.workers.heartbeat('worker-0-old', []);
    await world.sql`UPDATE workers SET heartbeat_at = now() - interval '1 minute', started_at = now() - interval '1 day' WHERE id = 'worker-0-old'`;
    const job = await liveJob(world, ours.accountId, {});
    await world.store.leases.acquire(job.id, 'ingest', id, 60);
    const { data } = await operator.browser.call<OperatorWorkerList>('/console/api/operator/workers');
    expect(data).toMatchObject([
      { id, host: 'gpu-1', alive: true, concurrency: 2, devices: [device], jobs: [{ id: job.id, step: 'ingest' }] },
      { id: 'worker-0-old', host: null, alive: false, devices: [], jobs: [] },
    ]);
    const next = await operator.browser.call<OperatorWorkerList>(`/console/api/operator/workers?limit=1&starting_after=${id}`);
    expect(next.data.map((worker) => worker.id)).toEqual(['worker-0-old']);
    const overview = await operator.browser.call<OperatorOverview>('/console/api/operator/overview');
    expect(overview.workers_alive).toBe(1);
  });

  it('failures of all accounts, newest first, without the URL of a customer', async () => {
    const jobs = [];
    for (const { accountId } of [ours, stranger, ours]) {
      const job = await liveJob(world, accountId, {});
      await endJob(world, job.id, 'error');
      jobs.push(job.id);
    }
    const first = await operator.browser.call<OperatorFailureList>('/console/api/operator/failures?limit=2');
    const rest = await operator.browser.call<OperatorFailureList>(
      `/console/api/operator/failures?starting_after=${first.next_cursor!}`,
    );
    expect([...first.data, ...rest.data].map(({ job_id }) => job_id)).toEqual(jobs.toReversed());
    expect(first.data[0]).toMatchObject({ code: 'processing_failed', account_id: ours.accountId });
    expect(JSON.stringify([first, rest])).not.toContain('media.example.com');
  });

  const accountPath = (accountId: string, part: string) => `/console/api/operator/accounts/${accountId}/${part}`;

  it('credits are withdrawn, not more than there are, with who did it', async () => {
    const person = await world.person({ credits: 300 });
    const path = accountPath(person.accountId, 'withdrawals');
    const tooMany = await operator.browser.request(path, { method: 'POST', json: { credits: 301 } });
    expect([tooMany.status, (await errorOf(tooMany)).code]).toEqual([402, 'insufficient_credits']);
    expect((await operator.browser.post<OperatorAccount>(path, { credits: 120, note: 'a mistake' })).credits).toBe(180);
    expect(await lastEvent(person.accountId)).toMatchObject({ kind: 'credits.withdrawn', data: { credits: 120, operator_id: operator.userId } });
    const ledger = await person.browser.call<Ledger>('/console/api/ledger');
    expect(ledger.data[0]).toMatchObject({ kind: 'withdrawal', amount: -120, note: 'a mistake' });
    expect(await world.store.ledgerCheck()).toEqual([]);
  });

  it.each([
    ['grants', 'credits.granted', 130],
    ['withdrawals', 'credits.withdrawn', 70],
  ])('%s with an Idempotency-Key happen once, also side by side; another body gets 409', async (part, kind, credits) => {
    const person = await world.person({ credits: 100 });
    const send = (json: object, key?: string, path = accountPath(person.accountId, part)) =>
      operator.browser.request(path, { method: 'POST', json, ...(key === undefined ? {} : { headers: { 'Idempotency-Key': key } }) });
    const together = await Promise.all(Array.from({ length: 4 }, () => send({ credits: 30, note: 'order 7' }, 'order-7')));
    const again = await send({ credits: 30, note: 'order 7' }, 'order-7');
    for (const response of [...together, again]) {
      expect(response.status).toBe(201);
      expect(await response.json()).toMatchObject({ id: person.accountId, credits });
    }
    expect(together.filter(({ headers }) => headers.get('Idempotent-Replayed') === null)).toHaveLength(1);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await lastEvent(person.accountId)).toMatchObject({ kind, data: { credits: 30 } });
    const opposite = accountPath(person.accountId, part === 'grants' ? 'withdrawals' : 'grants');
    for (const other of [send({ credits: 31, note: 'order 7' }, 'order-7'), send({ credits: 30 }, 'order-7'), send({ credits: 30, note: 'order 7' }, 'order-7', opposite)]) {
      expect([(await other).status, (await errorOf(await other)).code]).toEqual([409, 'idempotency_key_reused']);
    }
    const { data } = await person.browser.call<Ledger>('/console/api/ledger');
    expect(data.map(({ amount }) => Math.abs(amount))).toEqual([30, 100]);
    // Without a key each request counts, and the keys of one account are not those of another.
    const somebody = await world.person({ credits: 100 });
    const elsewhere = accountPath(somebody.accountId, part);
    for (const key of [undefined, undefined, 'order-7']) expect((await send({ credits: 1 }, key, elsewhere)).headers.get('Idempotent-Replayed')).toBeNull();
    expect(Math.abs((await world.store.accounts.get(somebody.accountId))!.credits - 100)).toBe(3);
    expect(await world.store.ledgerCheck()).toEqual([]);
  });

  it('a refused withdrawal does not use up its Idempotency-Key, and a closed account keeps none', async () => {
    const person = await world.person({ credits: 10 });
    const withdraw = () =>
      operator.browser.request(accountPath(person.accountId, 'withdrawals'), { method: 'POST', json: { credits: 25 }, headers: { 'Idempotency-Key': 'late' } });
    expect((await withdraw()).status).toBe(402);
    await world.store.accounts.grant(person.accountId, 20);
    const done = await withdraw();
    expect([done.status, done.headers.get('Idempotent-Replayed'), ((await done.json()) as OperatorAccount).credits]).toEqual([201, null, 5]);
    await world.store.accounts.close(person.accountId);
    expect((await withdraw()).status).toBe(404);
    expect(await world.sql`SELECT 1 FROM credit_idempotency_keys WHERE account_id = ${person.accountId}`).toHaveLength(0);
  });

  it('the plan is set, with who did it', async () => {
    const person = await world.person();
    const path = accountPath(person.accountId, 'plan');
    expect((await operator.browser.post<OperatorAccount>(path, { plan: 'studio' })).plan).toBe('studio');
    expect(await lastEvent(person.accountId)).toMatchObject({ kind: 'account.plan_changed', data: { plan: 'studio', operator_id: operator.userId } });
    const bad = await operator.browser.request(path, { method: 'POST', json: { plan: 'a b' } });
    expect((await errorOf(bad)).param).toBe('/plan');
  });

  it('quotas are set and taken away, with who did it; what the service sets is shown beside them', async () => {
    const person = await world.person();
    const path = accountPath(person.accountId, 'quotas');
    const set = await operator.browser.post<OperatorAccount>(path, { jobs_per_day: 5, upload_quota_bytes: 1000 });
    expect(set.quotas).toEqual({
      ...{ jobs_per_day: 5, parallel_enhancements: null, upload_quota_bytes: 1000 },
      ...{ create_per_minute: null, read_per_minute: null, other_per_minute: null },
    });
    expect(set.default_quotas).toMatchObject({ jobs_per_day: null, create_per_minute: 120 });
    expect(await lastEvent(person.accountId)).toMatchObject({
      kind: 'account.quotas_changed',
      data: { quotas: { jobs_per_day: 5, upload_quota_bytes: 1000 }, before: {}, operator_id: operator.userId },
    });
    const without = await operator.browser.post<OperatorAccount>(path, { jobs_per_day: null });
    expect(without.quotas).toMatchObject({ jobs_per_day: null, upload_quota_bytes: 1000 });
    const bad = await operator.browser.request(path, { method: 'POST', json: { parallel_enhancements: 0 } });
    expect((await errorOf(bad)).param).toBe('/parallel_enhancements');
  });

  it('an account is closed by its name alone, with its people, keys and open links; its jobs are deleted next', async () => {
    const person = await world.person({ credits: 500 });
    const job = await liveJob(world, person.accountId, {});
    const { secret } = await person.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'test', tier: 'standard' });
    const { invitation } = await person.browser.post<{ invitation: { id: string } }>('/console/api/invitations', { email: 'x@example.com', role: 'admin' });
    const path = accountPath(person.accountId, 'closure');
    const wrong = await operator.browser.request(path, { method: 'POST', json: { name: person.email.toUpperCase() } });
    expect(await errorOf(wrong)).toMatchObject({ code: 'invalid_request', param: '/name' });
    expect((await person.browser.request('/console/api/session')).status).toBe(200);
    expect(await operator.browser.post(path, { name: person.email })).toEqual({ closed: true });
    expect((await person.browser.request('/console/api/session')).status).toBe(401);
    expect(await world.store.keys.authenticate(hashApiKey(secret, pepper))).toBeNull();
    expect(await world.sql`SELECT 1 FROM invitations WHERE id = ${invitation.id}`).toHaveLength(0);
    expect(await lastEvent(person.accountId)).toMatchObject({ kind: 'account.closed', data: { users_removed: 1, operator_id: operator.userId } });
    expect((await world.store.jobs.deleteOfClosed(10)).done).toContain(job.id);
    const again = await operator.browser.request(path, { method: 'POST', json: { name: 'closed' } });
    expect(again.status).toBe(404);
  });

  it('403 operator_protected for the account of an operator: a stolen session removes no others', async () => {
    const second = await world.person({ operator: true });
    for (const { accountId, email, browser } of [second, operator]) {
      const response = await operator.browser.request(accountPath(accountId, 'closure'), { method: 'POST', json: { name: email } });
      expect([response.status, (await errorOf(response)).code]).toEqual([403, 'operator_protected']);
      expect((await browser.request('/console/api/session')).status).toBe(200);
    }
  });

  it('404 for an account that is not there', async () => {
    const path = `/console/api/operator/accounts/${newId('acct')}/grants`;
    const response = await operator.browser.request(path, { method: 'POST', json: { credits: 1 } });
    expect(response.status).toBe(404);
  });
});

