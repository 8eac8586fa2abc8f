/**
 * Removes the values of parameters from errors of queries. Drizzle and PostgreSQL put them into messages, and errors end in the log
 * and in the queue's `last_error`. The values are customers' URLs, names, e-mail addresses and hashes of keys.
 */
import { PgPreparedQuery } from 'drizzle-orm/pg-core';
import postgres from 'postgres';
import { DrizzleQueryError } from './orm.ts';

interface Prepared {
  queryWithCache(text: string, parameters: unknown[], run: () => Promise<unknown>): Promise<unknown>;
}

/** Drizzle has no hook for errors. Each of its queries runs in this method, inside of transactions, too. */
export function removeParametersFromErrors(): void {
  const prepared = PgPreparedQuery.prototype as unknown as Prepared;
  const { queryWithCache } = prepared;
  prepared.queryWithCache = async function withoutParameters(...query) {
    try {
      return await queryWithCache.apply(this, query);
    } catch (error) {
      if (error instanceof DrizzleQueryError) removeParameters(error);
      throw error;
    }
  };
}

function removeParameters(error: DrizzleQueryError): void {
  const message = `Failed query: ${error.query}`;
  Object.assign(error, { message, stack: stackWith(error, message) });
  Reflect.deleteProperty(error, 'params');
  if (error.cause instanceof postgres.PostgresError) error.cause = withoutValues(error.cause);
}

/** Errors of the project's own SQL functions; their details contain no values of customers. */
const ownState = /^RM\d{3}$/;
/** Data exceptions quote the value in their message. */
const dataException = /^22/;

const ServerError = postgres.PostgresError as unknown as new (facts: object) => postgres.PostgresError;

/** A copy, because the driver's stack cannot be changed. The driver's copy of the parameters is left out, too. */
function withoutValues(error: postgres.PostgresError): postgres.PostgresError {
  const message = dataException.test(error.code) ? error.message.replace(/".*"/s, '"…"') : error.message;
  // The detail of a violated constraint is the row.
  const hidden = ownState.test(error.code) ? {} : { detail: undefined, where: undefined };
  return Object.assign(new ServerError({ ...error, ...hidden, message }), { stack: stackWith(error, message) });
}

/** A stack begins with the message. */
const stackWith = (error: Error, message: string) => error.stack?.replace(error.message, () => message);
