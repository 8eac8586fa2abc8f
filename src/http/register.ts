/** Puts the contract's operations on the app: middleware first, then validation, then the handler. */
import type { OpenAPIHono, RouteConfig, RouteHandler } from '@hono/zod-openapi';
import type { Handler, MiddlewareHandler } from 'hono';
import { routes } from '../contract/routes.gen.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { RateClass } from '../store/types.ts';
import type { AppEnv } from './env.ts';

export type OperationId = keyof typeof routes;
/** Operations of the page at /console; a service may be run without them. */
export type ConsoleOperationId = Extract<OperationId, `console${string}` | `operator${string}`>;

type HandlersOf<Ids extends OperationId> = { [Id in Ids]: RouteHandler<(typeof routes)[Id], AppEnv> };

/** A missing or wrongly typed handler is a compile error. */
export type Handlers = HandlersOf<Exclude<OperationId, ConsoleOperationId>>;
export type ConsoleHandlers = HandlersOf<ConsoleOperationId>;

export interface RouteMiddleware {
  /** for operations that the document secures; before anything of the request is validated */
  authenticate: MiddlewareHandler<AppEnv>;
  /** behind authentication, since limits are per key */
  limit(rateClass: RateClass): MiddlewareHandler<AppEnv>;
  /** behind the limit: refused calls count too */
  approve: MiddlewareHandler<AppEnv>;
  /** for operations with a JSON body */
  body: MiddlewareHandler<AppEnv>;
  /** for operations of the console, where there is one */
  console?: {
    /** of those that need no session */
    anonymous(id: OperationId): MiddlewareHandler<AppEnv>[];
    session: MiddlewareHandler<AppEnv>;
    /** behind the session, since limits are per user */
    limit(rateClass: RateClass): MiddlewareHandler<AppEnv>;
    /** of those that change something */
    csrf: MiddlewareHandler<AppEnv>;
    operator: MiddlewareHandler<AppEnv>;
  };
}

const operationIds = Object.keys(routes) as OperationId[];

function classOf(id: OperationId, method: string): RateClass {
  if (id === 'createJob' || id === 'consoleCreateJob') return 'create';
  return method === 'get' ? 'read' : 'other';
}

/** Hono's notation of a route's path. */
function honoPath(route: RouteConfig): string {
  return route.path.replaceAll(/\/{(.+?)}/g, '/:$1');
}

export function registerRoutes(app: OpenAPIHono<AppEnv>, handlers: Handlers & Partial<ConsoleHandlers>, middleware: RouteMiddleware): void {
  const methodsByPath = new Map<string, Set<string>>();
  for (const id of operationIds) {
    const handler = handlers[id];
    if (handler === undefined) continue;
    const route: RouteConfig = routes[id];
    const path = honoPath(route);
    const chain = guardOf(id, route, middleware);
    if (route.request?.body?.content['application/json'] !== undefined) chain.push(middleware.body);
    if (chain.length > 0) app.on([route.method], [path], ...chain);
    // The map's type has tied this handler to this route; only the loop cannot show it to the compiler.
    app.openapi(route, handler as Handler);
    const methods = methodsByPath.get(path) ?? new Set();
    methodsByPath.set(path, methods.add(route.method.toUpperCase()));
  }
  for (const [path, methods] of methodsByPath) answerOtherMethods(app, path, methods);
}

/** What stands in front of validation, by the security that the document asks for. */
function guardOf(id: OperationId, route: RouteConfig, middleware: RouteMiddleware): MiddlewareHandler<AppEnv>[] {
  const [needed] = route.security ?? [];
  const rateClass = classOf(id, route.method);
  const { console } = middleware;
  if (console === undefined || !route.path.startsWith('/console/')) {
    if (needed === undefined) return [];
    return [middleware.authenticate, middleware.limit(rateClass), middleware.approve];
  }
  if (needed === undefined) return console.anonymous(id);
  return [
    console.session,
    console.limit(rateClass),
    ...('csrfToken' in needed ? [console.csrf] : []),
    ...(id.startsWith('operator') ? [console.operator] : []),
  ];
}

/** OPTIONS names the methods; whatever is left is 405 with the same names. HEAD goes wherever GET goes. */
function answerOtherMethods(app: OpenAPIHono<AppEnv>, path: string, methods: Set<string>): void {
  const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  app.on(['OPTIONS'], [path], (c) => c.body(null, 204, { Allow: allow }));
  app.all(path, (c) => {
    c.header('Allow', allow);
    throw new ReelmendError('method_not_allowed', `${c.req.method} is not allowed here; use ${allow}.`);
  });
}
