/** The console's operations, and the middleware in front of them. */
import type { ConsoleHandlers, RouteMiddleware } from '../register.ts';
import { rateLimit } from '../middleware/rate-limit.ts';
import { accountHandlers } from './account.ts';
import type { WithConsole } from '../deps.ts';
import { anonymous, requireCsrfToken, requirePermission, requireSession } from './guard.ts';
import { jobHandlers } from './jobs.ts';
import { keyHandlers } from './keys.ts';
import { operatorHandlers } from './operator.ts';
import { passwordLinkHandlers } from './password-links.ts';
import { peopleHandlers } from './people.ts';
import { permissions } from './permissions.ts';
import { previewHandlers } from './previews.ts';
import { requestLogHandlers } from './request-log.ts';
import { sessionHandlers } from './sessions.ts';
import { twoFactorHandlers } from './two-factor.ts';
import { uploadHandlers } from './uploads.ts';
import { webhookEndpointHandlers } from './webhook-endpoints.ts';
import { webhookHandlers } from './webhooks.ts';

export { registerConsolePage } from './page.ts';

export function consoleHandlers(deps: WithConsole): ConsoleHandlers {
  return {
    ...sessionHandlers(deps),
    ...keyHandlers(deps),
    ...jobHandlers(deps),
    ...previewHandlers(deps),
    ...uploadHandlers(deps),
    ...webhookHandlers(deps),
    ...webhookEndpointHandlers(deps),
    ...requestLogHandlers(deps),
    ...accountHandlers(deps),
    ...operatorHandlers(deps),
    ...passwordLinkHandlers(deps),
    ...peopleHandlers(deps),
    ...twoFactorHandlers(deps),
  };
}

export function consoleMiddleware(deps: WithConsole): NonNullable<RouteMiddleware['console']> {
  const limit = rateLimit({
    limits: deps.store.rateLimits,
    quotas: deps.options?.rateLimits ?? {},
    keyOf: (c) => c.get('session').user.id,
  });
  return {
    anonymous: anonymous(deps),
    session: requireSession(deps),
    limit,
    csrf: requireCsrfToken(deps),
    permit: (id) => requirePermission(permissions[id]),
  };
}
