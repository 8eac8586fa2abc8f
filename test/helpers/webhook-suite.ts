/** Set-up of the tests of webhooks: a real receiver, and workers whose webhooks are real and whose videos are stand-ins. */
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createNetClient, type GuardedClient } from '../../src/net/index.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { eventually, hangMs } from './wait.ts';
import { createWorkshop, type Workshop } from './worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, type World } from './worker-world.ts';

export interface Received {
  headers: Record<string, string>;
  body: string;
  at: number;
}

/** What the receiver got in this test, and how it answers; by default with 204. */
export interface Receiver {
  url: string;
  received: Received[];
  answer: (response: ServerResponse, count: number) => void;
}

export interface WebhookSuite extends Receiver {
  world: World;
  shop: Workshop;
  account: Account;
  receiver: Receiver;
}

/** One database and receiver per file; a workshop and an account per test. `use` receives the parts before each test. */
export function setUpWebhooks({ use }: { use: (suite: WebhookSuite) => void }) {
  let world: World;
  let server: Server;
  let url: string;
  let receiver: Receiver;
  let net: GuardedClient;
  let shop: Workshop;
  let account: Account;

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    receiver.received.push({ headers: request.headers as Record<string, string>, body, at: performance.now() });
    receiver.answer(response, receiver.received.length);
  };

  const useNewAccount = async () => {
    account = await fundedAccount(world.store, 300);
    use({ ...receiver, receiver, world, shop, account });
  };

  beforeAll(async () => {
    world = await createWorld();
    server = createServer((request, response) => void receive(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=t0ken`;
  });
  afterAll(async () => {
    server.close();
    await world.close();
  });
  beforeEach(async () => {
    receiver = { url, received: [], answer: (response) => response.writeHead(204).end() };
    net = createNetClient({ allowHosts: [new URL(url).host], timeouts: { connectMs: hangMs, headersMs: hangMs, idleMs: hangMs } });
    shop = await createWorkshop(world);
    await useNewAccount();
  });
  afterEach(async () => {
    await shop.close();
    await net.close();
    server.closeAllConnections();
  });

  const delivery = async () => (await world.store.deliveries.page({ accountId: account.id, limit: 10 }))[0]!;
  return {
    /** for another case of the same test */
    useNewAccount,
    async startWorker(scheduleS: readonly number[] = [0, 0.2, 0.4, 0.6], timeoutMs = hangMs): Promise<void> {
      const mixed = { ...net, download: shop.net.download.bind(shop.net) };
      const webhooks = { timeoutMs, scheduleS, overdueS: 1 };
      await shop.worker({ deps: { net: mixed }, tuning: { webhooks } }).start();
    },
    create: async (change: Partial<CreateJob> = {}) => (await world.store.jobs.create(jobInput(account, { webhookUrl: url, ...change }))).job,
    /** the newest one of the account */
    delivery,
    settled: async (state: string) => {
      await eventually(async () => (await delivery())?.state === state);
      return delivery();
    },
    /** that signs the webhooks to the URLs of the account's jobs */
    secret: async () => (await world.store.webhookSecrets.signing(account.id))!.secrets[0]!,
  };
}

/** What anybody with the secret and OpenSSL makes of a body. */
export const opensslHmac = (body: string, key: string) =>
  execFileSync('openssl', ['dgst', '-sha256', '-hmac', key], { input: body, encoding: 'utf8' }).trim().split(' ').at(-1);
