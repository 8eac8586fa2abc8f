import type { Principal } from '../store/types.ts';

/** What middleware leaves in Hono's context for handlers. */
export interface AppEnv {
  Variables: {
    requestId: string;
    /** set on every operation that the document secures */
    principal: Principal;
  };
}
