import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { NotificationListener } from '../../src/store/index.ts';
import { createTestDatabase } from '../helpers/database.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
afterEach(() => vi.restoreAllMocks());

it('leaves no timer behind when it is closed while it opens', async () => {
  const listener = new NotificationListener({ url: database.url, channels: ['a'], applicationName: 'test', onNotification: () => {} });
  const query = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(() => {
    query.mockRestore();
    void listener.close();
    return Promise.resolve();
  });
  const setInterval = vi.spyOn(globalThis, 'setInterval');
  await listener.open();
  expect(listener.closed).toBe(true);
  expect(setInterval).not.toHaveBeenCalled();
});

it('connects anew if the server never answers that it listens', async () => {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket.on('error', () => {}));
    // AuthenticationOk and ReadyForQuery, and nothing afterwards.
    socket.once('data', () => socket.write(Buffer.from([...Buffer.from('R'), 0, 0, 0, 8, 0, 0, 0, 0, ...Buffer.from('Z'), 0, 0, 0, 5, ...Buffer.from('I')])));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/none?sslmode=disable`;
  const listener = new NotificationListener({ url, channels: ['a'], applicationName: 'test', onNotification: () => {}, silenceTimeoutS: 0.2 });
  void listener.open();
  await vi.waitFor(() => expect(connections.length).toBeGreaterThan(1), { timeout: 10_000 });
  void listener.close();
  for (const socket of connections) socket.destroy();
  server.close();
});
