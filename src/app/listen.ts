/** A port that serves an app, and its end. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { answerParserErrors } from '../http/parser-errors.ts';
import type { ProblemOptions } from '../http/problem.ts';
import { bracketed } from './config.ts';

export interface ListenOptions extends ProblemOptions {
  host: string;
  port: number;
  /** the environment variable of the port, for error messages */
  variable: string;
}

export interface Listening {
  /** base URL */
  url: string;
  /** Accepts no more connections. Resolves when the requests in progress have ended, or their time is over. */
  close(): Promise<void>;
  /** ends all connections now */
  forceClose(): void;
}

type Fetch = Parameters<typeof serve>[0]['fetch'];

export async function listen(fetch: Fetch, { host, port, variable, ...problems }: ListenOptions): Promise<Listening> {
  const server = serve({ fetch, hostname: host, port, createServer }) as Server;
  answerParserErrors(server, problems);
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const inUse = `${variable}: ${port} is already in use on ${host}`;
      const failed = `HOST, ${variable}: cannot listen at ${bracketed(host)}:${port} (${cause.code ?? cause.message})`;
      reject(new Error(cause.code === 'EADDRINUSE' ? inUse : failed, { cause }));
    });
  });
  const url = `http://${bracketed(host)}:${(server.address() as AddressInfo).port}`;
  return { url, close: () => close(server), forceClose: () => server.closeAllConnections() };
}

/**
 * The longest request is a creation, which measures the video for 19 s at most. If it was cut off, a client without
 * Idempotency-Key would repeat it and pay twice. The grace periods in deploy/ and compose.yaml are longer.
 */
export const requestGraceMs = 21_000;

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // A client that keeps its connection open must not keep the process alive.
    const timer = setTimeout(() => server.closeAllConnections(), requestGraceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    // Connections whose request ends from now on are soon closed, too.
    server.keepAliveTimeout = 1;
    server.closeIdleConnections();
  });
}
