/**
 * Builds the API as a Hono app. It does not listen; src/app and the tests provide its dependencies.
 *
 * A request passes these stages:
 * 1. for every path: metrics, request id, trace, access log, secure headers
 * 2. for an operation of the contract (register.ts): the checks that it needs, such as authentication, rate limit, approval, access
 *    of the key, JSON body, the caller once more, and validation
 * 3. the handler of the operation, in routes/ or console/
 *
 * Handlers throw ReelmendError; problem.ts turns it into the response.
 */
import { OpenAPIHono } from '@hono/zod-openapi';
import { ReelmendError } from '../domain/errors.ts';
import { consoleHandlers, consoleMiddleware, registerConsolePage } from './console/index.ts';
import type { HttpDeps, WithStreams } from './deps.ts';
import type { App, AppEnv } from './env.ts';
import { accessLog } from './middleware/access-log.ts';
import { authenticate, requireApproval } from './middleware/authenticate.ts';
import { requireAccess } from './middleware/key-access.ts';
import { jsonBody } from './middleware/json-body.ts';
import { logRequests } from './middleware/log-requests.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { requestId } from './middleware/request-id.ts';
import { traceRequests } from './middleware/trace.ts';
import { secureHeaders } from './middleware/secure-headers.ts';
import { onlyErrors, problemHandler } from './problem.ts';
import { type Handlers, registerRoutes } from './register.ts';
import { accountHandlers } from './routes/account.ts';
import { descriptionHandlers } from './routes/description.ts';
import { docsHandlers, registerDocs } from './routes/docs.ts';
import { downloadHandlers } from './routes/downloads.ts';
import { evidenceHandlers } from './routes/evidence.ts';
import { jobHandlers } from './routes/jobs.ts';
import { modelHandlers } from './routes/models.ts';
import { healthHandlers } from './routes/health.ts';
import { previewHandlers } from './routes/previews.ts';
import { resultHandlers } from './routes/results.ts';
import { requestLogHandlers } from './routes/request-log.ts';
import { uploadHandlers } from './routes/uploads.ts';
import { webhookEndpointHandlers } from './routes/webhook-endpoints.ts';
import { createStreams } from './streams.ts';
import { pathError, validationError } from './validation.ts';

const defaultBodyLimitBytes = 65_536;
const defaultBodyTimeoutMs = 30_000;

export function buildApp(deps: HttpDeps): App {
  const { store, requestLog, options = {} } = deps;
  const app: App = new OpenAPIHono<AppEnv>({
    defaultHook: (result, c) => {
      if (result.success) return;
      const { target, error } = result;
      const data: unknown = Reflect.get(result, 'data');
      throw pathError(c.req.path, target) ?? validationError({ target, error, data });
    },
  });
  if (deps.metrics !== undefined) app.use(deps.metrics.middleware);
  app.use(requestId());
  app.use(traceRequests());
  app.use(accessLog({ logger: deps.logger }));
  app.use(secureHeaders({ hstsSubdomains: deps.options?.hstsSubdomains ?? false }));
  app.use(onlyErrors());
  const usable = (credentials: string[]) => validCredentials(deps, credentials);
  const parts = { ...deps, streams: createStreams({ ...options.streams, stopping: deps.stopping, usable }) };
  const consoleParts = deps.console === undefined ? undefined : { ...parts, console: deps.console };
  const handlers = { ...apiHandlers(parts), ...(consoleParts === undefined ? {} : consoleHandlers(consoleParts)) };
  registerRoutes(app, handlers, {
    authenticate: authenticate({ keys: store.keys, keyPepper: deps.keyPepper }),
    ...(requestLog === undefined ? {} : { log: (operation) => logRequests(requestLog, operation) }),
    limit: rateLimit({ limits: store.rateLimits, quotas: options.rateLimits ?? {} }),
    approve: requireApproval(),
    access: requireAccess,
    body: jsonBody({
      limitBytes: options.bodyLimitBytes ?? defaultBodyLimitBytes,
      timeoutMs: options.bodyTimeoutMs ?? defaultBodyTimeoutMs,
    }),
    ...(consoleParts === undefined ? {} : { console: consoleMiddleware(consoleParts) }),
  });
  if (deps.console !== undefined) registerConsolePage(app, deps.console);
  registerDocs(app, deps);
  app.notFound(() => {
    throw new ReelmendError('not_found', 'There is nothing at this path.');
  });
  app.onError(problemHandler(deps));
  return app;
}

/** Returns those ids of keys (`key_…`) and sessions (`sess_…`) that are still valid. */
async function validCredentials({ store, console }: HttpDeps, credentials: string[]): Promise<Set<string>> {
  const keys = credentials.filter((id) => id.startsWith('key_'));
  const sessions = credentials.filter((id) => id.startsWith('sess_'));
  const [validKeys, validSessions] = await Promise.all([
    keys.length === 0 ? [] : store.keys.usable(keys),
    sessions.length === 0 || console === undefined ? [] : console.store.users.open(sessions),
  ]);
  return new Set([...validKeys, ...validSessions]);
}

function apiHandlers(deps: WithStreams): Handlers {
  return {
    ...jobHandlers(deps),
    ...resultHandlers(deps),
    ...previewHandlers(deps),
    ...uploadHandlers(deps),
    ...accountHandlers(deps),
    ...modelHandlers(deps),
    ...webhookEndpointHandlers(deps),
    ...requestLogHandlers(deps),
    ...evidenceHandlers(deps),
    ...descriptionHandlers(deps),
    ...docsHandlers(deps),
    ...downloadHandlers(deps),
    ...healthHandlers(deps),
  };
}
