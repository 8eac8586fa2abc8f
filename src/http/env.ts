import type { OpenAPIHono } from '@hono/zod-openapi';
import type { LoggedError } from '../domain/request-log.ts';
import type { ConsoleIdentity } from '../store/index.ts';
import type { KeyPrincipal } from '../store/types.ts';

/** Variables that middleware sets in Hono's context. */
export interface AppEnv {
  Variables: {
    requestId: string;
    /** the job that the request created, for the access log */
    jobId: string | undefined;
    /** the upload or webhook endpoint that the request created, for the request log */
    resourceId: string | undefined;
    /** the error of the response, for the request log */
    problem: LoggedError | undefined;
    /** whether the body was complete when the caller had been checked */
    bodyWasThere: boolean;
    /** set for every operation that needs an API key */
    principal: KeyPrincipal;
    /** set for every console operation that needs a session */
    session: ConsoleIdentity;
    /** the CSRF token of the session */
    csrfToken: string;
  };
}

export type App = OpenAPIHono<AppEnv>;
