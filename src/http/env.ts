import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ConsoleIdentity } from '../store/index.ts';
import type { Principal } from '../store/types.ts';

/** What middleware leaves in Hono's context for handlers. */
export interface AppEnv {
  Variables: {
    requestId: string;
    /** of the job that the request made, for the log */
    jobId: string | undefined;
    /** set on every operation that the document secures */
    principal: Principal;
    /** set on every operation of the console that needs a session */
    session: ConsoleIdentity;
    /** the token that changes need in that session */
    csrfToken: string;
  };
}

export type App = OpenAPIHono<AppEnv>;
