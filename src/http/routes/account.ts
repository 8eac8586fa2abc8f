/** The account of the API key. */
import { ReelmendError } from '../../domain/errors.ts';
import { actorOf } from '../actor.ts';
import type { HttpDeps } from '../deps.ts';
import { ledgerPage } from '../ledger-page.ts';
import type { Handlers } from '../register.ts';
import { secureTierRequired } from '../request-checks.ts';
import { serializeAccount } from '../serialize.ts';
import { periodsWithoutUsage, usageDays } from '../usage-period.ts';

export function accountHandlers(deps: HttpDeps): Pick<Handlers, 'getAccount' | 'updateAccount' | 'listLedger' | 'getUsage'> {
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

    listLedger: async (c) => {
      const { account, mode } = c.get('principal');
      // Test mode takes no credits.
      if (mode === 'test') return c.json({ data: [], has_more: false, next_cursor: null }, 200);
      return c.json(await ledgerPage(store, account.id, c.req.valid('query')), 200);
    },

    getUsage: async (c) => {
      const { account, mode } = c.get('principal');
      const query = c.req.valid('query');
      const { interval } = query;
      const days = usageDays(query, new Date());
      // Test mode takes no credits.
      const data = mode === 'test' ? periodsWithoutUsage(interval, days) : await store.statements.usage({ accountId: account.id, interval, ...days });
      return c.json({ data }, 200);
    },
  };
}
