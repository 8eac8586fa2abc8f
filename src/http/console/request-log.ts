/** The request log of the session's account, in both modes. */
import type { WithConsole } from '../deps.ts';
import type { ConsoleHandlers } from '../register.ts';
import { requestLogPage } from '../request-log-page.ts';

export function requestLogHandlers({ store }: WithConsole): Pick<ConsoleHandlers, 'consoleListRequestLog'> {
  return {
    consoleListRequestLog: async (c) => {
      const { mode, ...query } = c.req.valid('query');
      return c.json(await requestLogPage(store, { accountId: c.get('session').account.id, mode }, query), 200);
    },
  };
}
