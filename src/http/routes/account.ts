/** The account of the API key. */
import { ReelmendError } from '../../domain/errors.ts';
import { actorOf } from '../actor.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';
import { secureTierRequired } from '../request-checks.ts';
import { serializeAccount } from '../serialize.ts';

export function accountHandlers(deps: HttpDeps): Pick<Handlers, 'getAccount' | 'updateAccount'> {
  const { store } = deps;
  return {
    getAccount: async (c) => {
      const principal = c.get('principal');
      const account = await store.accounts.get(principal.account.id);
      return c.json(serializeAccount(deps, principal, account ?? principal.account), 200);
    },

    updateAccount: async (c) => {
      const principal = c.get('principal');
      if (principal.tier !== 'secure') throw secureTierRequired();
      const { retention_days } = c.req.valid('json');
      const account = await store.accounts.setRetention(principal.account.id, retention_days, actorOf(principal));
      if (account === null) throw new ReelmendError('internal_error', 'The account no longer exists.');
      return c.json(serializeAccount(deps, principal, account), 200);
    },
  };
}
