/** The request log of the account in the key's mode. */
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';
import { requestLogPage } from '../request-log-page.ts';

export function requestLogHandlers({ store }: HttpDeps): Pick<Handlers, 'listRequestLog'> {
  return {
    listRequestLog: async (c) => {
      const { account, mode } = c.get('principal');
      return c.json(await requestLogPage(store, { accountId: account.id, mode }, c.req.valid('query')), 200);
    },
  };
}
