/** Probes for load balancers and orchestrators. */
import { ReelmendError } from '../../domain/errors.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';

export function healthHandlers({ store }: HttpDeps): Pick<Handlers, 'getHealth' | 'getReadiness'> {
  return {
    getHealth: (c) => c.json({ status: 'ok' as const }, 200),
    getReadiness: async (c) => {
      if (!(await store.ping())) {
        throw new ReelmendError('service_unavailable', 'The database does not respond.', { retryAfterS: 2 });
      }
      return c.json({ status: 'ok' as const }, 200);
    },
  };
}
