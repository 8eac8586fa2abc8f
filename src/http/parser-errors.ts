/** Requests that Node's HTTP parser refuses never reach the app: they get the same error envelope here. */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Error as ErrorBody } from '../contract/types.gen.ts';
import type { HttpLogger } from './deps.ts';
import { newRequestId } from './middleware/request-id.ts';
import { statusByCode, typeByStatus } from './problem.ts';

/** By Node's code of the error; what is not listed is broken in another way. */
const sentences: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large.',
  HPE_INVALID_METHOD: 'The method of the request is unknown.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** Answers 400 `invalid_request` and closes the connection, unless a response is already on its way there. */
export function answerParserErrors(server: Server, logger: Pick<HttpLogger, 'info'>): void {
  const latest = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => void latest.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = latest.get(socket);
    const underWay = response !== undefined && response.headersSent && !response.writableFinished;
    if (!socket.writable || underWay || error.code === 'ECONNRESET') return void socket.destroy();
    const requestId = newRequestId();
    logger.info({ reason: error.code, request_id: requestId }, 'request refused by the HTTP parser');
    socket.end(responseText(sentences[error.code ?? ''] ?? 'The request is not proper HTTP.', requestId));
  });
}

function responseText(message: string, requestId: string): string {
  const status = statusByCode.invalid_request;
  const body: ErrorBody = {
    error: { code: 'invalid_request', message, type: typeByStatus[status]!, request_id: requestId },
  };
  const text = JSON.stringify(body);
  const headers = [
    `HTTP/1.1 ${status} Bad Request`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  return `${headers.join('\r\n')}\r\n\r\n${text}`;
}
