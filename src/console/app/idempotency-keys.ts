/** Idempotency keys of the requests of one form. */
import { useRef } from 'react';
import { newIdempotencyKey } from './random.ts';

/**
 * Returns the function that gives the key of a request. The same body gets the same key as long as the component is mounted,
 * so that another attempt after a lost response changes nothing twice.
 */
export function useIdempotencyKeys(): (body: object) => string {
  const keys = useRef(new Map<string, string>());
  return (body) => {
    const text = JSON.stringify(body);
    const key = keys.current.get(text) ?? newIdempotencyKey();
    keys.current.set(text, key);
    return key;
  };
}
