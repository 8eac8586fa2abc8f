/** One typed map of handlers: a missing or wrongly typed one is a compile error. */
import type { RouteHandler } from '@hono/zod-openapi';
import type { routes } from '../contract/routes.gen.ts';
import type { AppEnv } from './env.ts';

export type OperationId = keyof typeof routes;

export type Handlers = { [Id in OperationId]: RouteHandler<(typeof routes)[Id], AppEnv> };
