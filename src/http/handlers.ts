/** Typed maps of handlers: a missing or wrongly typed one is a compile error. */
import type { RouteHandler } from '@hono/zod-openapi';
import type { routes } from '../contract/routes.gen.ts';
import type { AppEnv } from './env.ts';

export type OperationId = keyof typeof routes;
/** Operations of the page at /console; a service may be run without them. */
export type ConsoleOperationId = Extract<OperationId, `console${string}` | `operator${string}`>;

type HandlersOf<Ids extends OperationId> = { [Id in Ids]: RouteHandler<(typeof routes)[Id], AppEnv> };

export type Handlers = HandlersOf<Exclude<OperationId, ConsoleOperationId>>;
export type ConsoleHandlers = HandlersOf<ConsoleOperationId>;
