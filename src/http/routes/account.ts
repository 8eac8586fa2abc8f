/** The account behind the key. */
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../handlers.ts';
import { presentAccount } from '../present.ts';

export function accountHandlers({ store }: HttpDeps): Pick<Handlers, 'getAccount'> {
  return {
    getAccount: async (c) => {
      const principal = c.get('principal');
      const account = await store.accounts.get(principal.account.id);
      return c.json(presentAccount(principal, account ?? principal.account), 200);
    },
  };
}
