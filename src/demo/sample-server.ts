/** A file server on loopback for the sample video. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SampleServer {
  /** URL of the sample */
  url: string;
  hostPort: string;
  close(): Promise<void>;
}

export interface SampleServerOptions {
  /** preferred port, used if it is free; 0 = any */
  preferredPort: number;
}

/**
 * Serves the file at `path` as /sample.mp4. It has a port of its own, because its host and port are exempt from the
 * private-address guard; the API's must never be.
 */
export async function serveSample(path: string, { preferredPort }: SampleServerOptions): Promise<SampleServer> {
  const server = createServer((request, response) => {
    if (request.url !== '/sample.mp4') return response.writeHead(404).end();
    sendFile(path, request, response).catch(() => (response.headersSent ? response.destroy() : response.writeHead(404).end()));
  });
  await listen(server, preferredPort).catch(() => listen(server, 0));
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://${hostPort}/sample.mp4`, hostPort, close };
}

/** Sends a file or a single byte range of it. Rejects when the file does not exist. */
async function sendFile(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { size } = await stat(path);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = range ? Number(range[1]) : 0;
  const end = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  if (start > end) return void response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
  const headers = { 'Content-Type': 'video/mp4', 'Accept-Ranges': 'bytes', 'Content-Length': end - start + 1 };
  response.writeHead(range ? 206 : 200, range ? { ...headers, 'Content-Range': `bytes ${start}-${end}/${size}` } : headers);
  if (request.method === 'HEAD') return void response.end();
  createReadStream(path, { start, end }).on('error', () => response.destroy()).pipe(response);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
