/** Everybody at one job at once: one winner, money right. And the crowd at the door of two API processes. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pino from 'pino';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import type { Mode } from '../../src/domain/job.ts';
import { createEvidence } from '../../src/evidence/index.ts';
import { buildApp } from '../../src/http/app.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { FakeStorage } from '../helpers/worker-fakes.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { createWorld, fundedAccount, jobInput, sampleSource, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ maxConnections: 20 });
  // Which jobs were given back before they were deleted, or deleted after their lease had expired: the work of their only attempt was lost.
  await world.sql.unsafe(`CREATE TABLE given_back (id text PRIMARY KEY);
    CREATE FUNCTION note_given_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO given_back VALUES (NEW.id); RETURN NULL; END $$;
    CREATE TRIGGER given_back AFTER UPDATE ON jobs FOR EACH ROW
      WHEN (OLD.lease_owner IS NOT NULL AND OLD.status = 'running' AND CASE WHEN NEW.deleted_at IS NULL
        THEN NEW.lease_owner IS NULL AND NEW.status = 'running' ELSE OLD.deleted_at IS NULL AND OLD.lease_expires_at < clock_timestamp() END)
      EXECUTE FUNCTION note_given_back()`);
});
afterAll(() => world.close());

const output = { width: 2, height: 2, size_bytes: 1, sha256: 'c'.repeat(64) };

/** What may happen to a running job; each resolves to whether it won. */
const rivals = {
  async finish({ fence, key }: Race) {
    const stored = { key, size: 1, sha256: output.sha256, version: null };
    await world.store.leases.finish(fence, { stored, output, applied: null });
    return true;
  },
  async fail({ fence }: Race) {
    await world.store.leases.fail(fence, { code: 'processing_failed', message: 'No.' });
    return true;
  },
  cancel: async ({ account, id }: Race) => (await world.store.jobs.delete(account.id, 'live', id)) !== null,
  again: async ({ account, id }: Race) => (await world.store.jobs.delete(account.id, 'live', id)) !== null,
  retention: async ({ id }: Race) => (await world.store.jobs.expireDue(50)).done.includes(id),
  async crash({ id }: Race) {
    await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${id} AND lease_owner IS NOT NULL`;
    return (await world.store.leases.sweepExpired(1)).failed.some((job) => job.id === id);
  },
  late: async ({ fence }: Race) => void (await world.store.leases.release(fence)),
};
type Rival = keyof typeof rivals;

interface Race {
  account: Account;
  id: string;
  key: string;
  fence: { jobId: string; attempt: number; owner: string };
}

async function startRace(): Promise<Race> {
  const account = await fundedAccount(world.store, 60);
  const { job } = await world.store.jobs.create(jobInput(account, { tier: 'secure', credits: 60 }));
  const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'worker', 60))!;
  await world.store.leases.progress(fence, { fraction: 0.45, etaSeconds: 1 }, 60);
  await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${job.id}`;
  return { account, id: job.id, key: await world.store.objects.registerPendingObject(fence, 'output'), fence };
}

const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((item) => [Math.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);

describe('cancel, finish, failure, crash, deletion and retention of one job at once', () => {
  it('have one end and one deletion, and the credits follow the winner', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < (isLongRun ? 60 : 20); round++) {
      const race = await startRace();
      const names = shuffled(Object.keys(rivals) as Rival[]);
      const results = await Promise.allSettled(names.map((name) => rivals[name](race)));
      const won = new Set<Rival>();
      for (const [at, result] of results.entries()) {
        if (result.status === 'fulfilled' && result.value === true) won.add(names[at]!);
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ name: 'LeaseLost' });
      }
      expect([...won].filter((name) => ['cancel', 'again', 'retention'].includes(name))).toHaveLength(1);
      const ends = [...won].filter((name) => ['finish', 'fail', 'crash'].includes(name));
      expect(ends.length).toBeLessThanOrEqual(1);
      const { credits } = (await world.store.accounts.get(race.account.id))!;
      const isLost = (await world.sql`SELECT FROM given_back WHERE id = ${race.id}`).length > 0;
      // Begun seconds of a cancelled job are paid (5 of 10) unless they were lost, a finished one is paid whole, a failed one not at all.
      expect(credits).toBe(ends[0] === 'finish' ? 0 : ends[0] === undefined && !isLost ? 30 : 60);
      seen.add(ends[0] ?? 'cancelled');
    }
    expect(await world.store.ledgerCheck()).toEqual([]);
    expect(seen.size).toBeGreaterThan(1);
  });
});

describe('two API processes', () => {
  const apps = (stores: Store[]) =>
    stores.map((store) =>
      buildApp({
        store,
        storage: new FakeStorage(),
        checkUrl: () => {},
        measure: async () => sampleSource,
        evidence: createEvidence({ keys: store.signingKeys, cipher: testCipher }),
        keyPepper: 'pepper',
        publicUrl: () => 'http://reelmend.test',
        description: readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'),
        logger: pino({ level: 'silent' }),
        options: { rateLimits: { create: 1000 } },
      }),
    );
  let stores: Store[];
  let send: (
    n: number,
    key: string,
    headers?: Record<string, string>,
  ) => Promise<{ status: number; body: Answer; headers: Headers }>;
  interface Answer {
    id?: string;
    error?: { code: string };
  }
  beforeAll(() => {
    stores = [1, 2].map(() => createStore({ url: world.url, maxConnections: 10 }));
    const both = apps(stores);
    send = async (n, key, headers = {}) => {
      const response = await both[n % 2]!.request('/v1/jobs', {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ video_url: 'https://videos.example.com/a.mp4', resolution: '1080p' }),
      });
      return { status: response.status, body: (await response.json()) as Answer, headers: response.headers };
    };
  });
  afterAll(() => Promise.all(stores.map((store) => store.close())));

  async function customer(credits: number, mode: Mode = 'live') {
    const account = await fundedAccount(world.store, credits);
    const { key, lastFour } = generateApiKey(mode);
    await world.store.keys.create({
      accountId: account.id,
      mode,
      tier: 'standard',
      hash: hashApiKey(key, 'pepper'),
      lastFour,
    });
    return { account, key };
  }

  it('make one job and one charge of 100 equal requests with one idempotency key', async () => {
    const { account, key } = await customer(3000);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => send(n, key, { 'Idempotency-Key': 'order-17' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true')).toHaveLength(1);
    expect((await world.store.accounts.get(account.id))!.credits).toBe(2970);
    const charges =
      await world.sql`SELECT 1 FROM ledger_transfers WHERE account_id = ${account.id} AND kind = 'charge'`;
    expect(charges).toHaveLength(1);
  });

  it('accept 7 of 100 jobs with credits for 7, refuse 93 with 402, and leave nothing', async () => {
    const { account, key } = await customer(7 * 30);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => send(n, key)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body }) => `${status} ${body.error?.code}`)).toEqual(
      Array(93).fill('402 insufficient_credits'),
    );
    expect((await world.store.accounts.get(account.id))!.credits).toBe(0);
    expect(await world.store.ledgerCheck()).toEqual([]);
  });
});
