/** Idempotency keys of requests that have got no answer yet. */
import { ApiError } from '../api/client.ts';
import { newIdempotencyKey } from './random.ts';

/** by the request, as JSON */
const keys = new Map<string, string>();

/**
 * Sends a request with an idempotency key. After a lost response, the same request has the same key, also from a dialog or page that was
 * opened again. So another attempt changes nothing twice. An answer ends the key: the same request once more is another one.
 */
export async function sendOnce<T>(request: object, send: (key: string) => Promise<T>): Promise<T> {
  const text = JSON.stringify(request);
  const key = keys.get(text) ?? newIdempotencyKey();
  keys.set(text, key);
  try {
    const answer = await send(key);
    keys.delete(text);
    return answer;
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) keys.delete(text);
    throw error;
  }
}
