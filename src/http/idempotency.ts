/** Requests with an Idempotency-Key: what an earlier one has created is returned again. */
import { jcs, sha256Hex } from '../domain/audit.ts';
import type { Idempotency } from '../store/types.ts';

export function idempotencyOf(key: string | undefined, body: object): Idempotency | null {
  if (key === undefined) return null;
  return { key, fingerprint: sha256Hex(jcs(body)) };
}

/** Creates with `create` unless the idempotency key has created already, before the call or during it. `find` is called with a key only. */
export async function withReplay<T extends { replayed: boolean }>(
  idempotency: Idempotency | null,
  { find, create }: { find: (idempotency: Idempotency) => Promise<T | null>; create: () => Promise<T> },
): Promise<T> {
  const replay = async () => (idempotency === null ? null : find(idempotency));
  const earlier = await replay();
  if (earlier !== null) return earlier;
  try {
    return await create();
  } catch (error) {
    // A request in flight may have created it meanwhile, with what this one lacks: a video that could be measured, or the last of a quota.
    const meanwhile = await replay();
    if (meanwhile !== null) return meanwhile;
    throw error;
  }
}
