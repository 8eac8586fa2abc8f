import { createMiddleware } from 'hono/factory';

/** Hono's error handler sees only `Error` objects; any other thrown value would leave the app as it is. */
export function onlyErrors() {
  return createMiddleware(async (_c, next) => {
    try {
      await next();
    } catch (thrown) {
      throw thrown instanceof Error ? thrown : new Error('A value was thrown that is no Error.', { cause: thrown });
    }
  });
}
