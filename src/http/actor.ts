/** How the audit log and the store name the caller of a request. */
import type { Actor, Principal } from '../store/types.ts';

export function actorOf(principal: Principal): Actor {
  if (principal.kind === 'user') return { user_id: principal.userId };
  return { key_id: principal.keyId, ...(principal.name === '' ? {} : { key_name: principal.name }) };
}

/** The session of a user of the console, which must be open still when something is created; undefined for a key. */
export const sessionIdOf = (principal: Principal): string | undefined => (principal.kind === 'user' ? principal.sessionId : undefined);
