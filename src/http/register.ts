/** Registers the operations of the contract on the app: middleware, validation, handler. */
import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono, RouteConfig, RouteHandler } from '@hono/zod-openapi';
import type { Handler, MiddlewareHandler } from 'hono';
import { routes } from '../contract/routes.gen.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { ServiceRateClass } from '../store/types.ts';
import type { AppEnv } from './env.ts';

export type OperationId = keyof typeof routes;
/** Operations of the console, which is optional. */
export type ConsoleOperationId = Extract<OperationId, `console${string}` | `operator${string}`>;

type HandlersOf<Ids extends OperationId> = { [Id in Ids]: RouteHandler<(typeof routes)[Id], AppEnv> };

/** A missing or wrongly typed handler is a compile error. */
export type Handlers = HandlersOf<Exclude<OperationId, ConsoleOperationId>>;
export type ConsoleHandlers = HandlersOf<ConsoleOperationId>;

export interface RouteMiddleware {
  /** for operations that need an API key; runs before validation */
  authenticate: MiddlewareHandler<AppEnv>;
  /** runs after authentication and around the rest; absent: requests are not logged */
  log?(operation: { path: string }): MiddlewareHandler<AppEnv>;
  /** runs after authentication, since limits are per key */
  limit(rateClass: ServiceRateClass): MiddlewareHandler<AppEnv>;
  /** runs after the limit, so that refused calls count too */
  approve: MiddlewareHandler<AppEnv>;
  /** refuses keys whose access does not cover the operation; runs after the limit too */
  access(operation: { id: OperationId; method: string }): MiddlewareHandler<AppEnv>;
  /** for operations with a JSON body */
  body: MiddlewareHandler<AppEnv>;
  /** for operations of the console */
  console?: {
    /** for operations without a session */
    anonymous(id: OperationId): MiddlewareHandler<AppEnv>[];
    session: MiddlewareHandler<AppEnv>;
    /** runs after the session, since limits are per user */
    limit(rateClass: ServiceRateClass): MiddlewareHandler<AppEnv>;
    /** for operations that change something */
    csrf: MiddlewareHandler<AppEnv>;
    /** refuses users whose role does not allow the operation */
    permit(id: ConsoleOperationId): MiddlewareHandler<AppEnv>;
  };
}

const operationIds = Object.keys(routes) as OperationId[];

const creations: ReadonlySet<OperationId> = new Set(['createJob', 'consoleCreateJob', 'createPreview', 'consoleCreatePreview']);

function classOf(id: OperationId, method: string): ServiceRateClass {
  if (creations.has(id)) return 'create';
  return method === 'get' ? 'read' : 'other';
}

/** The path in Hono's notation. */
function honoPath(route: RouteConfig): string {
  return route.path.replaceAll(/\/{(.+?)}/g, '/:$1');
}

export function registerRoutes(app: OpenAPIHono<AppEnv>, handlers: Handlers & Partial<ConsoleHandlers>, middleware: RouteMiddleware): void {
  const methodsByPath = new Map<string, Set<string>>();
  // Before validation, so that pages can also read why a link is refused.
  for (const path of ofAnyOrigin) app.use(`${path}*`, readByAnyOrigin);
  for (const id of operationIds) {
    const handler = handlers[id];
    if (handler === undefined) continue;
    const route: RouteConfig = routes[id];
    const path = honoPath(route);
    const { first, again } = guardsOf(id, route, middleware);
    const hasBody = route.request?.body?.content['application/json'] !== undefined;
    const chain = hasBody ? [...first, noteBody, middleware.body, ...again.map(unlessBodyWasThere)] : first;
    if (chain.length > 0) app.on([route.method], [path], ...chain);
    // The type `Handlers` ties this handler to this route; the compiler cannot follow that through the loop.
    app.openapi(route, handler as Handler);
    const methods = methodsByPath.get(path) ?? new Set();
    methodsByPath.set(path, methods.add(route.method.toUpperCase()));
  }
  for (const [path, methods] of methodsByPath) answerOtherMethods(app, path, methods);
}

interface Guards {
  /** before the body is received */
  first: MiddlewareHandler<AppEnv>[];
  /** what is checked once more after a body that came later: a session may end meanwhile, a role be lost, a key be revoked */
  again: MiddlewareHandler<AppEnv>[];
}

/** The middleware before validation, depending on the `security` of the operation. */
function guardsOf(id: OperationId, route: RouteConfig, middleware: RouteMiddleware): Guards {
  const [needed] = route.security ?? [];
  const rateClass = classOf(id, route.method);
  const { authenticate, limit, approve, console } = middleware;
  if (console === undefined || !route.path.startsWith('/console/')) {
    if (needed === undefined) return { first: [], again: [] };
    const log = middleware.log === undefined ? [] : [middleware.log({ path: route.path })];
    const access = middleware.access({ id, method: route.method });
    return { first: [authenticate, ...log, limit(rateClass), approve, access], again: [authenticate, approve] };
  }
  if (needed === undefined) return { first: console.anonymous(id), again: [] };
  const permit = console.permit(id as ConsoleOperationId);
  const csrf = 'csrfToken' in needed ? [console.csrf] : [];
  return { first: [console.session, console.limit(rateClass), ...csrf, permit], again: [console.session, permit] };
}

const unlessBodyWasThere = (check: MiddlewareHandler<AppEnv>): MiddlewareHandler<AppEnv> => (c, next) => (c.get('bodyWasThere') ? next() : check(c, next));

/** In tests the app does not listen, and Node's request is not there. */
const noteBody: MiddlewareHandler<AppEnv> = (c, next) => {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  c.set('bodyWasThere', incoming?.complete === true);
  return next();
};

/** Web pages of any origin may send parts of uploads and read results: the signed URL is the permission. */
const ofAnyOrigin = ['/v1/upload-parts/', '/v1/downloads/'] as const;

const readByAnyOrigin: MiddlewareHandler<AppEnv> = (c, next) => {
  c.header('Access-Control-Allow-Origin', '*');
  c.header('Access-Control-Expose-Headers', 'Accept-Ranges, Content-Disposition, Content-Range, ETag, Retry-After, X-Request-Id');
  return next();
};

const preflight = (methods: string, headers: string) => ({
  'Access-Control-Allow-Methods': methods,
  'Access-Control-Allow-Headers': headers,
  'Access-Control-Max-Age': '3600',
});

function preflightOf(path: string): Record<string, string> {
  const [parts, downloads] = ofAnyOrigin;
  if (path.startsWith(parts)) return preflight('PUT', 'Content-Type');
  if (path.startsWith(downloads)) return preflight('GET, HEAD', 'Range, If-Range, If-None-Match');
  return {};
}

/** OPTIONS lists the methods of a path; every other method returns 405 with the same list. GET implies HEAD. */
function answerOtherMethods(app: OpenAPIHono<AppEnv>, path: string, methods: Set<string>): void {
  const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  const headers = { Allow: allow, ...preflightOf(path) };
  app.on(['OPTIONS'], [path], (c) => c.body(null, 204, headers));
  app.all(path, (c) => {
    c.header('Allow', allow);
    throw new ReelmendError('method_not_allowed', `${c.req.method} is not allowed here; use ${allow}.`);
  });
}
