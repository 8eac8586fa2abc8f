/** The requests that commands make without the SDK, behind a proxy. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const servers: Server[] = [];

/** Answers with `name` and the target of the request. Returns the URL of the server. */
async function serverNamed(name: string): Promise<string> {
  const server = createServer(({ url }, response) => response.end(`${name} ${url}`)).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

let receiver: string;
beforeAll(async () => {
  receiver = await serverNamed('receiver');
  // The names in small letters come first.
  vi.stubEnv('http_proxy', await serverNamed('proxy'));
  vi.stubEnv('no_proxy', '');
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const server of servers) server.close().closeAllConnections();
});

it('use it if NODE_USE_ENV_PROXY says so, as those of the SDK do, except for this machine', async () => {
  const { fetch } = await import('../../src/cli/fetch.ts');
  const textAt = async (url: string) => (await fetch(url)).text();
  expect(await textAt('http://media.example/a.mp4')).toBe('proxy http://media.example/a.mp4');
  expect(await textAt(`${receiver}/hooks`)).toBe('receiver /hooks');
});
