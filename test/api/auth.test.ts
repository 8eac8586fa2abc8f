import { describe, expect, it } from 'vitest';
import { generateApiKey, hashApiKey, keyChecksum, parseApiKey } from '../../src/domain/api-key.ts';
import { newId } from '../../src/domain/ids.ts';
import { errorOf, makeApi } from '../helpers/http.ts';
import { operations } from '../helpers/http-contract.ts';

/** Those of the console take a session instead, see console-every-operation.test.ts. */
const secured = operations.filter(({ path, statuses }) => statuses.includes('401') && !path.startsWith('/console/'));
const pathFor = (path: string) => path.replace('{id}', newId('job'));

describe('keys', () => {
  it('carry their mode and a checksum that finds every single changed character', () => {
    for (const mode of ['test', 'live'] as const) {
      const { key, lastFour } = generateApiKey(mode);
      expect(key).toMatch(/^svc_(test|live)_[0-9A-Za-z]{38}$/);
      expect(parseApiKey(key)).toEqual({ mode, lastFour });
      expect(key.endsWith(lastFour)).toBe(true);
      for (let at = 'svc_live_'.length; at < key.length; at += 1) {
        const changed = key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1);
        expect(parseApiKey(changed), `position ${at}`).toBeNull();
      }
    }
  });

  it('do not change modes with their prefix', () => {
    const { key } = generateApiKey('test');
    expect(parseApiKey(key.replace('svc_test_', 'svc_live_'))).toBeNull();
  });

  it('have the CRC32 of zlib in base62, padded to six characters', () => {
    // CRC32("123456789") is 0xcbf43926, the check value of the polynomial's catalogue: 3421780262 in base62.
    expect(keyChecksum('123456789')).toBe('3jZRME');
    expect(keyChecksum('')).toBe('000000');
  });

  it('are different, and hash differently under another pepper', () => {
    const keys = new Set(Array.from({ length: 200 }, () => generateApiKey('live').key));
    expect(keys.size).toBe(200);
    const [key] = [...keys];
    expect(hashApiKey(key!, 'a').equals(hashApiKey(key!, 'b'))).toBe(false);
    expect(hashApiKey(key!, 'a')).toHaveLength(32);
  });
});

describe.each(secured)('$method $path', ({ method, path }) => {
  it('401 missing_api_key without a key', async () => {
    const api = makeApi();
    for (const headers of [{}, { Authorization: '' }] as Record<string, string>[]) {
      const response = await api.request(pathFor(path), { method: method.toUpperCase(), key: null, headers });
      expect(response.status).toBe(401);
      expect(await errorOf(response)).toMatchObject({ code: 'missing_api_key', type: 'authentication_error' });
      expect(response.headers.get('WWW-Authenticate')).toMatch(/^Bearer/);
    }
    expect(api.store.lookUps).toBe(0);
  });

  it('401 invalid_api_key without a look at the store when the form or the checksum is wrong', async () => {
    const api = makeApi();
    const { key } = generateApiKey('live');
    const headers = [
      'Bearer',
      'Bearer x',
      `Bearer ${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key}0`,
      `Basic ${key}`,
      key,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer ${key} ${key}`,
    ];
    for (const Authorization of headers) {
      const response = await api.request(pathFor(path), { method: method.toUpperCase(), headers: { Authorization } });
      expect(response.status, Authorization).toBe(401);
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_api_key', type: 'authentication_error' });
    }
    expect(api.store.lookUps).toBe(0);
  });

  it('401 for a well-formed key that nobody has, before anything of the request is validated', async () => {
    const api = makeApi();
    const { key } = generateApiKey('live');
    const response = await api.request(`${pathFor(path)}?nonsense=1`, {
      method: method.toUpperCase(),
      key,
      ...(method === 'post' ? { body: '{', headers: { 'Content-Type': 'text/plain' } } : {}),
    });
    expect(response.status).toBe(401);
    expect(api.store.lookUps).toBe(1);
  });

  it('403 account_pending_approval for a live key until the account is approved, never for a test key', async () => {
    for (const approvalStatus of ['pending', 'rejected'] as const) {
      const api = makeApi({ account: { approvalStatus } });
      const response = await api.request(pathFor(path), { method: method.toUpperCase(), key: api.keys.live });
      expect(response.status).toBe(403);
      expect(await errorOf(response)).toMatchObject({ code: 'account_pending_approval', type: 'permission_error' });
      const testMode = await api.request(pathFor(path), { method: method.toUpperCase(), key: api.keys.testSecure });
      expect(testMode.status).not.toBe(403);
    }
  });
});

describe('a key without its scheme', () => {
  it.each([
    ['alone', (key: string) => key],
    ['as the name of a user (curl -u)', (key: string) => `Basic ${btoa(`${key}:`)}`],
    ['with another scheme', (key: string) => `Token ${key}`],
    ['that is empty', () => 'Bearer '],
  ])('is refused with what to send: %s', async (_name, header) => {
    const api = makeApi();
    const response = await api.request('/v1/account', { headers: { Authorization: header(api.keys.live) } });
    expect(response.status).toBe(401);
    const { code, message } = await errorOf(response);
    expect(code).toBe('invalid_api_key');
    expect(message).toContain('"Authorization: Bearer <API_KEY>"');
    expect(message).not.toContain(api.keys.live);
  });
});

describe('look-ups of one key', () => {
  it('are shared while they are under way, and asked again afterwards', async () => {
    const api = makeApi();
    const burst = await Promise.all(Array.from({ length: 20 }, () => api.request('/v1/account')));
    expect(burst.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(api.store.lookUps).toBeLessThan(20);
    const before = api.store.lookUps;
    await api.store.revokeKey(api.keys.live);
    expect((await api.request('/v1/account')).status).toBe(401);
    expect(api.store.lookUps).toBe(before + 1);
  });

  it('that fail are not kept', async () => {
    const api = makeApi();
    api.store.failure = new Error('down');
    expect((await api.request('/v1/account')).status).toBe(500);
    api.store.failure = undefined;
    expect((await api.request('/v1/account')).status).toBe(200);
  });
});
