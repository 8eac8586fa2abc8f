/** API keys of the session's account. */
import { generateApiKey, hashApiKey } from '../../domain/api-key.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { KeyRecord } from '../../store/index.ts';
import type { ConsoleHandlers } from '../register.ts';
import type { WithConsole } from '../deps.ts';
import { pageOf } from '../paging.ts';
import { serializeKey } from './serialize.ts';

type KeyHandlers = Pick<
  ConsoleHandlers,
  'consoleListKeys' | 'consoleCreateKey' | 'consoleRenameKey' | 'consoleRevokeKey' | 'consoleRotateKey'
>;

export function keyHandlers({ console: { store }, keyPepper }: WithConsole): KeyHandlers {
  /** Throws ReelmendError `not_found` if the account has no such key. */
  const ownKey = async (accountId: string, keyId: string): Promise<KeyRecord> => {
    const key = await store.keys.get(keyId);
    if (key?.accountId !== accountId) throw new ReelmendError('not_found', 'There is no such key.');
    return key;
  };
  return {
    consoleListKeys: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const rows = await store.keys.page({ accountId, limit: limit + 1, startingAfter: starting_after });
      return c.json(pageOf(rows, limit, { serialize: (key) => serializeKey(key), cursor: ({ id }) => id }), 200);
    },

    consoleCreateKey: async (c) => {
      const { account, user } = c.get('session');
      const { mode, tier, name = '', access = 'full' } = c.req.valid('json');
      const { key: secret, lastFour } = generateApiKey(mode);
      const hash = hashApiKey(secret, keyPepper);
      const wanted = { accountId: account.id, mode, tier, name, access, hash, lastFour };
      const key = await store.keys.create(wanted, { user_id: user.id });
      return c.json({ key: serializeKey(key), secret }, 201);
    },

    consoleRenameKey: async (c) => {
      const { account, user } = c.get('session');
      const { id } = await ownKey(account.id, c.req.valid('param').id);
      const renamed = await store.keys.rename(id, c.req.valid('json').name, { user_id: user.id });
      if (renamed === null) throw new ReelmendError('not_found', 'There is no such key.');
      return c.json(serializeKey(renamed), 200);
    },

    consoleRevokeKey: async (c) => {
      const { account, user } = c.get('session');
      const { id } = await ownKey(account.id, c.req.valid('param').id);
      const revoked = await store.keys.revoke(id, { user_id: user.id });
      if (revoked === null) throw new ReelmendError('not_found', 'There is no such key.');
      return c.json(serializeKey(revoked), 200);
    },

    consoleRotateKey: async (c) => {
      const { account, user } = c.get('session');
      const old = await ownKey(account.id, c.req.valid('param').id);
      const { key: secret, lastFour } = generateApiKey(old.mode);
      const fresh = { hash: hashApiKey(secret, keyPepper), lastFour, overlapDays: c.req.valid('json').overlap_days };
      const rotated = await store.keys.rotate(old.id, fresh, { user_id: user.id });
      if (rotated === null) throw new ReelmendError('key_not_active', 'The key is revoked or expired.');
      return c.json({ key: serializeKey(rotated.fresh), secret, replaced: serializeKey(rotated.old) }, 201);
    },
  };
}
