/** Puts the contract's operations on the app: middleware first, then validation, then the handler. */
import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi';
import type { Handler, MiddlewareHandler } from 'hono';
import { routes } from '../contract/routes.gen.ts';
import { FrameliftError } from '../domain/errors.ts';
import type { RateClass } from '../store/types.ts';
import type { AppEnv } from './env.ts';
import type { ConsoleHandlers, Handlers, OperationId } from './handlers.ts';

export interface RouteMiddleware {
  /** for operations that the document secures; before anything of the request is validated */
  authenticate: MiddlewareHandler<AppEnv>;
  /** behind authentication, since limits are per key */
  limit(rateClass: RateClass): MiddlewareHandler<AppEnv>;
  /** behind the limit: refused calls count too */
  approve: MiddlewareHandler<AppEnv>;
  /** for operations with a body */
  body: MiddlewareHandler<AppEnv>;
}

const operationIds = Object.keys(routes) as OperationId[];

function classOf(id: OperationId, method: string): RateClass {
  if (id === 'createJob') return 'create';
  return method === 'get' ? 'read' : 'other';
}

/** Hono's notation of a route's path. */
function honoPath(route: RouteConfig): string {
  return route.path.replaceAll(/\/{(.+?)}/g, '/:$1');
}

export function registerRoutes(app: OpenAPIHono<AppEnv>, handlers: Handlers & Partial<ConsoleHandlers>, middleware: RouteMiddleware): void {
  const { limit } = middleware;
  const limits = { create: limit('create'), read: limit('read'), other: limit('other') };
  const methodsByPath = new Map<string, Set<string>>();
  for (const id of operationIds) {
    const handler = handlers[id];
    if (handler === undefined) continue;
    const route: RouteConfig = routes[id];
    const path = honoPath(route);
    const chain: MiddlewareHandler<AppEnv>[] = [];
    if ((route.security ?? []).length > 0) {
      chain.push(middleware.authenticate, limits[classOf(id, route.method)], middleware.approve);
    }
    if (route.request?.body !== undefined) chain.push(middleware.body);
    if (chain.length > 0) app.on([route.method], [path], ...chain);
    // The map's type has tied this handler to this route; only the loop cannot show it to the compiler.
    app.openapi(route, handler as Handler);
    const methods = methodsByPath.get(path) ?? new Set();
    methodsByPath.set(path, methods.add(route.method.toUpperCase()));
  }
  for (const [path, methods] of methodsByPath) answerOtherMethods(app, path, methods);
}

/** OPTIONS names the methods; whatever is left is 405 with the same names. HEAD goes wherever GET goes. */
function answerOtherMethods(app: OpenAPIHono<AppEnv>, path: string, methods: Set<string>): void {
  const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  app.on(['OPTIONS'], [path], (c) => c.body(null, 204, { Allow: allow }));
  app.all(path, (c) => {
    c.header('Allow', allow);
    throw new FrameliftError('method_not_allowed', `${c.req.method} is not allowed here; use ${allow}.`);
  });
}
