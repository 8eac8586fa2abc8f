/**
 * Collects the calls of keys and stores them in batches: a request only adds an entry to a list in memory. If the database
 * is too slow, entries are dropped and counted, and requests continue.
 */
import { newId } from '../domain/ids.ts';
import { type LoggedRequest, redact, redactError } from '../domain/request-log.ts';
import type { RequestLogStore } from '../store/types.ts';
import type { HttpLogger, RequestFacts, RequestLog } from './deps.ts';

export interface RequestLogOptions {
  store: Pick<RequestLogStore, 'append'>;
  logger: Pick<HttpLogger, 'warn'>;
  /** ms between two batches */
  intervalMs?: number;
  /** waiting entries of one account and of all; further ones are dropped */
  perAccount?: number;
  total?: number;
}

/** Longer bodies are not kept. */
const longestBody = 8192;

export function createRequestLog({ store, logger, intervalMs = 1000, perAccount = 500, total = 5000 }: RequestLogOptions): RequestLog {
  let waiting: LoggedWaiting[] = [];
  let byAccount = new Map<string, number>();
  let dropped = 0;
  let writing = Promise.resolve();

  const write = async () => {
    const batch = waiting;
    const lost = dropped;
    waiting = [];
    byAccount = new Map();
    dropped = 0;
    if (lost > 0) logger.warn({ dropped: lost }, 'entries of the request log were dropped: too many requests at once');
    try {
      await store.append(batch.map(entryOf));
    } catch (err) {
      logger.warn({ err, dropped: batch.length }, 'entries of the request log could not be stored');
    }
  };
  /** One batch at a time: a slow database makes the next one larger, up to the limit. */
  const flush = () => (writing = writing.then(() => (waiting.length === 0 && dropped === 0 ? undefined : write())));
  const timer = setInterval(() => void flush(), intervalMs).unref();

  return {
    add(facts) {
      const ofAccount = byAccount.get(facts.accountId) ?? 0;
      if (waiting.length >= total || ofAccount >= perAccount) {
        dropped += 1;
        return;
      }
      byAccount.set(facts.accountId, ofAccount + 1);
      const { bodyText, ...rest } = facts;
      waiting.push({ ...rest, id: newId('log'), bodyText: bodyText !== undefined && bodyText.length <= longestBody ? bodyText : undefined });
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

type LoggedWaiting = RequestFacts & { id: string };

function entryOf({ bodyText, error, ...facts }: LoggedWaiting): LoggedRequest {
  return { ...facts, error: error && redactError(error), requestBody: bodyText === undefined ? null : redact(parsed(bodyText)) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
