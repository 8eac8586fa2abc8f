/** TCP servers that do not speak valid HTTP, and certificates for TLS servers. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface RawServer {
  hostPort: string;
  port: number;
  /** everything that clients have sent */
  readonly received: string;
  readonly connections: number;
  close(): Promise<void>;
}

/** Passes every connection to `onSocket`. Listens on an ephemeral loopback port. */
export async function startRawServer(onSocket: (socket: Socket) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const seen = { received: '', connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    socket.on('data', (data) => (seen.received += data.toString('latin1')));
    onSocket(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    hostPort: `127.0.0.1:${port}`,
    port,
    get received() {
      return seen.received;
    },
    get connections() {
      return seen.connections;
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Its queue of connections is full for so many ms, so that the kernel drops what asks for another, as a distant network delays it. */
const busyProgram = `
  const { createServer } = require('node:net');
  const head = 'HTTP/1.1 206 Partial Content\\r\\nContent-Range: bytes 0-3/4\\r\\nContent-Length: 4\\r\\n\\r\\nabcd';
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(head)));
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.argv[1]));
  });`;

export async function startBusyServer(busyMs: number): Promise<{ port: number; close(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', busyProgram, String(busyMs)], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(text);
  const waiting = Array.from({ length: 4 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => undefined));
  await once(waiting[1]!, 'connect');
  return {
    port,
    async close() {
      for (const socket of waiting) socket.destroy();
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** A self-signed certificate for 127.0.0.1, made with openssl; null if openssl is missing. */
export async function makeCertificate(): Promise<{ key: string; cert: string } | null> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-tls-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  args.push('-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert);
  try {
    await promisify(execFile)('openssl', args);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    console.warn('TLS TESTS NOT RUN: openssl is missing (apt install openssl)');
    return null;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
