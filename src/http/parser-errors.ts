/** Responds to requests that Node or the adapter of Hono refuses and the app never gets, with the same error envelope. */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Error as ErrorBody } from '../contract/types.gen.ts';
import { newRequestId } from './middleware/request-id.ts';
import { docUrl } from './doc-url.ts';
import { type ProblemOptions, statusByCode, typeByStatus } from './problem.ts';

/** By the code of Node's error; all other codes get the general sentence. */
const messages: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large.',
  HPE_INVALID_METHOD: 'The method of the request is unknown.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

interface ParserErrorOptions extends Pick<ProblemOptions, 'publicUrl'> {
  logger: Pick<ProblemOptions['logger'], 'info'>;
}

/**
 * Responds with 400 `invalid_request` and closes the connection. If earlier requests of the connection are unfinished, it
 * closes without a response: the client would read the 400 as the response to the first of them.
 */
export function answerParserErrors(server: Server, { logger, publicUrl }: ParserErrorOptions): void {
  /** Several if the client pipelines. */
  const unfinished = new WeakMap<Duplex, Set<ServerResponse>>();
  server.on('request', (request, response) => {
    const ofSocket = unfinished.get(request.socket) ?? new Set();
    unfinished.set(request.socket, ofSocket.add(response));
    response.once('close', () => ofSocket.delete(response));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isBusy = (unfinished.get(socket)?.size ?? 0) > 0;
    if (!socket.writable || isBusy || error.code === 'ECONNRESET') return void socket.destroy();
    const { status, headers, text } = refuseRequest(error.code, messages[error.code ?? ''] ?? 'The request is not proper HTTP.', { logger, publicUrl });
    const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
    socket.end(`HTTP/1.1 ${status} Bad Request\r\n${lines.join('\r\n')}\r\n\r\n${text}`);
  });
}

export interface RefusedRequest {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** The 400 for a request that is not proper HTTP. `reason` is for the log. */
export function refuseRequest(reason: string | undefined, message: string, { logger, publicUrl }: ParserErrorOptions): RefusedRequest {
  const requestId = newRequestId();
  logger.info({ reason, request_id: requestId }, 'request refused by the HTTP parser');
  const status = statusByCode.invalid_request;
  const body: ErrorBody = {
    error: { code: 'invalid_request', message, type: typeByStatus[status]!, request_id: requestId, doc_url: docUrl(publicUrl(), 'invalid_request') },
  };
  const text = JSON.stringify(body);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
  };
  return { status, headers, text };
}
