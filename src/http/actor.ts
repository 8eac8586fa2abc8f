/** How the audit log names the caller of a request. */
import type { Actor, KeyPrincipal, Principal } from '../store/types.ts';

export function actorOf(principal: Principal | KeyPrincipal): Actor {
  if (!('access' in principal)) return { user_id: principal.keyId };
  return { key_id: principal.keyId, ...(principal.name === '' ? {} : { key_name: principal.name }) };
}
