import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStore } from '../../src/store/index.ts';
import { hangMs } from '../helpers/wait.ts';
import { createWorld, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ maxConnections: 10 });
});
afterAll(() => world.close());

const hourly = { limit: 60, windowS: 3600 };
/** So many seconds, less those that the test itself has taken. */
const about = (seconds: number): unknown => expect.toSatisfy((value: number) => value <= seconds && value > seconds - hangMs / 1000, `about ${seconds} s`);
const setBack = (key: string, seconds: number) =>
  world.sql`UPDATE rate_limits SET tat = tat - ${seconds}, at = at - ${seconds} WHERE subject = ${key}`;

describe('the rate limiter', () => {
  it('lets the whole quota pass at once and counts it down', async () => {
    const policy = { limit: 3, windowS: 3600 };
    const results = [];
    for (let n = 0; n < 4; n++) results.push(await world.store.rateLimits.take('key_a', 'create', policy));
    expect(results).toEqual([
      { allowed: true, remaining: 2, resetS: about(1200), retryAfterS: 0 },
      { allowed: true, remaining: 1, resetS: about(2400), retryAfterS: 0 },
      { allowed: true, remaining: 0, resetS: about(3600), retryAfterS: 0 },
      { allowed: false, remaining: 0, resetS: about(3600), retryAfterS: about(1200) },
    ]);
  });

  it('passes exactly the quota of 300 calls of five processes over 50 connections', async () => {
    const processes = Array.from({ length: 5 }, () => createStore({ url: world.url, maxConnections: 10 }));
    const calls = Array.from({ length: 300 }, (_, n) => processes[n % 5]!.rateLimits.take('key_b', 'read', hourly));
    const results = await Promise.all(calls);
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(60);
    expect(
      results
        .filter(({ allowed }) => allowed)
        .map(({ remaining }) => remaining)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 60 }, (_, n) => n));
    for (const { allowed, retryAfterS } of results) expect(retryAfterS > 0).toBe(!allowed);
    await Promise.all(processes.map((store) => store.close()));
  });

  it('refills continuously, and refused calls use nothing up', async () => {
    const take = () => world.store.rateLimits.take('key_c', 'other', hourly);
    for (let n = 0; n < 60; n++) await take();
    for (let n = 0; n < 20; n++) expect((await take()).allowed).toBe(false);
    await setBack('key_c', 61);
    expect(await take()).toMatchObject({ allowed: true, remaining: 0 });
    expect(await take()).toMatchObject({ allowed: false, remaining: 0 });
    await setBack('key_c', 3600);
    expect(await take()).toMatchObject({ allowed: true, remaining: 59 });
  });

  it('17: does not wait for the disk, and leaves the commits of others as they are', async () => {
    const connection = await world.sql.reserve();
    const commits = async () => (await connection<{ value: string }[]>`SELECT current_setting('synchronous_commit') AS value`)[0]!.value;
    try {
      await connection`SET synchronous_commit = on`;
      await connection`BEGIN`;
      await connection`SELECT take_rate_limit('key_disk', NULL, 'read', 60, 1, NULL, 1)`;
      expect(await commits()).toBe('off');
      await connection`COMMIT`;
      expect(await commits()).toBe('on');
    } finally {
      await connection`RESET synchronous_commit`;
      connection.release();
    }
  });

  it('counts keys and classes apart', async () => {
    const once = { limit: 1, windowS: 60 };
    for (const [key, kind] of [
      ['key_d', 'create'],
      ['key_d', 'read'],
      ['key_e', 'create'],
    ] as const) {
      expect((await world.store.rateLimits.take(key, kind, once)).allowed).toBe(true);
      expect((await world.store.rateLimits.take(key, kind, once)).allowed).toBe(false);
    }
  });

  it('holds the keys of one account to a limit of their own together; what a key is refused costs it nothing', async () => {
    const account = { id: 'acct_a', limit: 5 };
    const take = (key: string, times: number) =>
      Promise.all(Array.from({ length: times }, () => world.store.rateLimits.take(key, 'create', { ...hourly, limit: 3, account })));
    const allowed = async (key: string, times: number) => (await take(key, times)).filter((result) => result.allowed).length;
    expect(await allowed('key_h', 20)).toBe(3);
    expect(await allowed('key_i', 20)).toBe(2);
    expect(await take('key_j', 1)).toEqual([{ allowed: false, remaining: 0, resetS: about(3600), retryAfterS: about(720) }]);
    expect(await world.store.rateLimits.take('key_j', 'create', { ...hourly, account: { id: 'acct_b', limit: 5 } })).toMatchObject({
      allowed: true,
      remaining: 4,
    });
  });

  it('charges a key nothing for calls that its account refuses', async () => {
    const account = { id: 'acct_d', limit: 4 };
    const take = (key: string) => world.store.rateLimits.take(key, 'create', { ...hourly, limit: 6, account });
    for (let n = 0; n < 4; n += 1) expect(await take('key_l')).toMatchObject({ allowed: true });
    for (let n = 0; n < 10; n += 1) {
      expect(await take('key_m')).toEqual({ allowed: false, remaining: 0, resetS: about(3600), retryAfterS: about(900) });
    }
    // With the account's quota full again, the second key has all of its own.
    await setBack('acct_d', 3600);
    expect(await world.store.rateLimits.take('key_m', 'create', { ...hourly, limit: 6 })).toMatchObject({ allowed: true, remaining: 5 });
  });

  it('says when both quotas allow a call again', async () => {
    const policy = { ...hourly, limit: 2, account: { id: 'acct_e', limit: 6 } };
    const take = (key: string) => world.store.rateLimits.take(key, 'create', policy);
    for (const key of ['key_n', 'key_n', 'key_o', 'key_o', 'key_p', 'key_p']) await take(key);
    // Both are empty: a call of the account refills in 600 s, one of the key in 1800 s.
    expect(await take('key_n')).toMatchObject({ allowed: false, retryAfterS: about(1800) });
    // The account alone is empty.
    expect(await take('key_q')).toMatchObject({ allowed: false, retryAfterS: about(600) });
  });

  it('five processes with five keys pass exactly the quota of their account', async () => {
    const processes = Array.from({ length: 5 }, () => createStore({ url: world.url, maxConnections: 4 }));
    const account = { id: 'acct_c', limit: 80 };
    const calls = Array.from({ length: 300 }, (_, n) =>
      processes[n % 5]!.rateLimits.take(`key_k${Math.floor(n / 5) % 5}`, 'read', { ...hourly, account }),
    );
    expect((await Promise.all(calls)).filter(({ allowed }) => allowed)).toHaveLength(80);
    await Promise.all(processes.map((store) => store.close()));
  });

  it('a clock that was a day ahead blocks nobody for longer than the window', async () => {
    const take = () => world.store.rateLimits.take('key_f', 'read', { limit: 10, windowS: 60 });
    for (let n = 0; n < 11; n++) await take();
    await setBack('key_f', -86_400);
    expect(await take()).toMatchObject({ allowed: false, retryAfterS: 6, resetS: 60 });
    await setBack('key_f', 60);
    expect(await take()).toMatchObject({ allowed: true, remaining: 9 });
  });

  it('forgets keys whose quota has long been whole', async () => {
    await world.store.rateLimits.take('key_g', 'read', hourly);
    await setBack('key_g', 90_000);
    expect(await world.store.rateLimits.prune()).toBe(1);
    expect(await world.store.rateLimits.prune()).toBe(0);
  });
});
