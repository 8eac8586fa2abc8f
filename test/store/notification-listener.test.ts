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
