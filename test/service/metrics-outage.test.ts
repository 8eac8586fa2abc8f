/** Metrics of the service without its database, traces without their collector, and the check of the ledger that one process makes for all. */
import { trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildMetricsApp, createHttpMetrics } from '../../src/http/metrics.ts';
import { registerServiceMetrics } from '../../src/observability/service-metrics.ts';
import { startTracing } from '../../src/observability/tracing.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { startSilentServer } from '../helpers/silent-server.ts';
import { hangMs } from '../helpers/wait.ts';
import { createWorld, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

async function scrape(store: Pick<Store, 'operations' | 'ledgerChecks' | 'ping'>, limits = { timeoutMs: hangMs, pingTimeoutMs: hangMs }) {
  const registry = new Registry();
  createHttpMetrics({ registry });
  registerServiceMetrics({ registry, store, ...limits });
  const response = await buildMetricsApp({ registry }).request('/metrics');
  const text = await response.text();
  const value = (name: string) => new RegExp(`^reelmend_${name} (.+)$`, 'm').exec(text)?.[1];
  return { status: response.status, text, value };
}

it('a database that does not answer is known before the driver gives it up, so that probes get their answer', async () => {
  const silent = await startSilentServer();
  const store = createStore({ url: `postgres://nobody@127.0.0.1:${silent.port}/none` });
  const givenUp = store.accounts.get('acct_none').catch(() => 'given up');
  expect(await Promise.race([givenUp, store.ping()])).toBe(false);
  silent.close();
  void store.close().catch(() => {});
});

it.each(['refuses', 'does not answer'])('a collector of traces that %s costs the process its last spans, and not its exit status', async (what) => {
  const silent = await startSilentServer();
  const port = what === 'refuses' ? 1 : silent.port;
  const warnings: string[] = [];
  const logger = { warn: (_: object, message: string) => warnings.push(message) } as never;
  const tracing = await startTracing({ endpoint: `http://127.0.0.1:${port}`, logger });
  trace.getTracer('test').startSpan('work').end();
  await tracing.stop();
  expect(warnings).toEqual(['the last traces could not be sent']);
  silent.close();
});

describe('/metrics', () => {
  it('answers with what it has while the database refuses or does not answer', async () => {
    const silent = await startSilentServer();
    const urls = ['postgres://nobody@127.0.0.1:1/none', `postgres://nobody@127.0.0.1:${silent.port}/none`];
    for (const url of urls) {
      const store = createStore({ url });
      let pinged = false;
      void store.ping().catch(() => (pinged = true));
      const { status, text, value } = await scrape(store, { timeoutMs: 500, pingTimeoutMs: 500 });
      // It does not wait until the driver gives a silent server up.
      if (url.includes(`:${silent.port}`)) expect(pinged).toBe(false);
      expect({ url, status, up: value('database_up') }).toEqual({ url, status: 200, up: '0' });
      expect(text).toContain('reelmend_http_requests_in_flight 0');
      for (const name of ['workers_alive', 'accounts_pending', 'ledger_violations']) expect(value(name), name).toBeUndefined();
      void store.close().catch(() => {});
    }
    silent.close();
  });

  it('answers with everything while the database is slow, and asks for one overview at a time', async () => {
    const registry = new Registry();
    let begun = 0;
    const slow = Promise.withResolvers<void>();
    const overview = async () => {
      begun += 1;
      await slow.promise;
      return world.store.operations.overview();
    };
    const store = { ...world.store, operations: { ...world.store.operations, overview } };
    registerServiceMetrics({ registry, store, overviewMs: 0, timeoutMs: 300, pingTimeoutMs: hangMs });
    const early = await registry.metrics();
    expect(early).toMatch(/^reelmend_database_up 1$/m);
    expect(early).not.toContain('reelmend_workers_alive 0');
    await registry.metrics();
    expect(begun).toBe(1);
    slow.resolve();
    const patient = new Registry();
    registerServiceMetrics({ registry: patient, store, timeoutMs: hangMs, pingTimeoutMs: hangMs });
    const text = await patient.metrics();
    expect(text).toMatch(/^reelmend_database_up 1$/m);
    expect(text).toMatch(/^reelmend_workers_alive 0$/m);
  });

  it('reports the result of the last check of the ledger, and checks nothing itself', async () => {
    const before = await scrape(world.store);
    expect(before).toMatchObject({ status: 200 });
    expect([before.value('database_up'), before.value('ledger_violations')]).toEqual(['1', undefined]);
    const account = await world.store.accounts.create({ name: 'Somebody' });
    await world.sql`UPDATE accounts SET credits = 7 WHERE id = ${account.id}`;
    const due = () => Promise.all(Array.from({ length: 5 }, () => world.store.ledgerChecks.runDue(600)));
    const checked = (await due()).filter((result) => result !== null);
    expect(checked).toMatchObject([{ violations: 1 }]);
    await world.sql`UPDATE accounts SET credits = 0 WHERE id = ${account.id}`;
    expect(await due()).toEqual([null, null, null, null, null]);
    const { value } = await scrape(world.store);
    expect(value('ledger_violations')).toBe('1');
    expect(Number(value('ledger_last_check_timestamp_seconds'))).toBeCloseTo(checked[0]!.checkedAt.getTime() / 1000, 1);
    await world.sql`UPDATE ledger_checks SET started_at = now() - interval '11 minutes'`;
    expect((await due()).filter((result) => result !== null)).toMatchObject([{ violations: 0 }]);
    // The clock of the database was ahead. Until then, the alert would not fire either: the last check would be in the future.
    await world.sql`UPDATE ledger_checks SET started_at = now() + interval '5 hours', checked_at = now() + interval '5 hours'`;
    expect((await due()).filter((result) => result !== null)).toMatchObject([{ violations: 0 }]);
  });
});
