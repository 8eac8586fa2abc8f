/** URLs of PostgreSQL as libpq reads them: TLS, IPv6, Unix sockets. All drivers of the service must agree. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect, isDatabaseFault } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { NotificationListener } from '../../src/store/notification-listener.ts';
import { parseConnectionUrl } from '../../src/store/connection-url.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { makeCertificate } from '../helpers/rawserver.ts';

const certificate = await makeCertificate();

let database: TestDatabase;
let dir: string;
beforeAll(async () => {
  database = await createTestDatabase();
  dir = await mkdtemp(join(tmpdir(), 'reelmend-connection-url-'));
});
afterAll(async () => {
  await database.drop();
  await rm(dir, { recursive: true, force: true });
});

/** Uses a URL as the service does: its migrations (both drivers), its pool, and the connection that listens. */
async function use(url: string): Promise<void> {
  await migrate({ url });
  const { sql, close } = connect({ url, max: 1 });
  await sql`SELECT 1`.finally(close);
  const listening = Promise.withResolvers<void>();
  const options = { url, channels: ['test'], applicationName: 'test', onNotification: () => undefined };
  const listener = new NotificationListener({ ...options, isNeeded: () => false, onListening: () => listening.resolve() });
  await listener.open();
  await listening.promise;
  await listener.close();
}

/** Forwards connections to the test database's server. */
async function forward(accept: (client: Socket) => Promise<Socket | null>, place: { port: number; host: string } | { path: string }) {
  const { hostname, port } = new URL(database.url);
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    sockets.add(client.on('error', () => undefined));
    void accept(client).then((plain) => {
      if (plain === null) return;
      const onward = connectTcp({ host: hostname, port: Number(port) });
      sockets.add(onward);
      for (const each of [plain, onward]) each.on('error', () => void (onward.destroy(), client.destroy()));
      plain.pipe(onward).pipe(plain);
    });
  });
  server.listen(place);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

const asIs = (client: Socket) => Promise.resolve(client);

/** The URL of the test database elsewhere. */
function urlAt(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

describe.skipIf(certificate === null)('a PostgreSQL with TLS and a private CA', () => {
  let server: Awaited<ReturnType<typeof forward>>;
  let encrypted = 0;
  /** Only clients that have the certificate are let in. */
  let wantsCertificate = false;
  beforeAll(async () => {
    await writeFile(join(dir, 'ca.pem'), certificate!.cert);
    // As PostgreSQL: the client asks for TLS first. This server refuses to do without.
    const accept = async (client: Socket): Promise<Socket | null> => {
      const [request] = (await once(client, 'data')) as [Buffer];
      if (request.readInt32BE(4) !== 80_877_103) return (client.destroy(), null);
      client.write('S');
      encrypted += 1;
      const options = { isServer: true, ...certificate };
      if (!wantsCertificate) return new TLSSocket(client, options);
      const secured = new TLSSocket(client, { ...options, requestCert: true });
      await once(secured, 'secure');
      const isKnown = secured.getPeerCertificate().fingerprint256 === new X509Certificate(certificate!.cert).fingerprint256;
      return isKnown ? secured : (client.destroy(), null);
    };
    server = await forward(accept, { port: 0, host: '127.0.0.1' });
  });
  afterAll(() => server.close());

  const url = (host: string, parameters: string) => `${urlAt((one) => {
    one.hostname = host;
    one.port = String(server.port);
  })}?${parameters.replace('CA', join(dir, 'ca.pem'))}`;

  // The certificate is for 127.0.0.1.
  it.each([
    { host: '127.0.0.1', parameters: 'sslmode=require' },
    { host: '127.0.0.1', parameters: 'sslmode=prefer' },
    { host: '127.0.0.1', parameters: 'sslmode=require&channel_binding=prefer' },
    { host: '127.0.0.1', parameters: 'sslmode=verify-full&sslrootcert=CA' },
    { host: '127.0.0.1', parameters: 'sslrootcert=CA' },
    { host: 'localhost', parameters: 'sslmode=verify-ca&sslrootcert=CA' },
    { host: 'localhost', parameters: 'sslmode=require&sslrootcert=CA' },
  ])('is used at $host with $parameters', async ({ host, parameters }) => {
    encrypted = 0;
    await use(url(host, parameters));
    expect(encrypted).toBeGreaterThanOrEqual(5);
  });

  it.each([
    { host: '127.0.0.1', parameters: 'sslmode=verify-full', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    { host: 'localhost', parameters: 'sslmode=verify-full&sslrootcert=CA', code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  ])('is refused at $host with $parameters', async ({ host, parameters, code }) => {
    await expect(use(url(host, parameters))).rejects.toMatchObject({ code });
    // A certificate may also expire while the service runs: that is no mistake of a request.
    const { sql, close } = connect({ url: url(host, parameters), max: 1 });
    const fault: unknown = await sql`SELECT 1`.catch((error: unknown) => error).finally(close);
    expect(isDatabaseFault(fault)).toBe(true);
  });

  it('gets the certificate of the client', async () => {
    await writeFile(join(dir, 'client.pem'), certificate!.cert);
    await writeFile(join(dir, 'client.key'), certificate!.key);
    wantsCertificate = true;
    try {
      const own = `sslcert=${join(dir, 'client.pem')}&sslkey=${join(dir, 'client.key')}`;
      await use(url('127.0.0.1', `sslmode=verify-full&sslrootcert=CA&${own}`));
    } finally {
      wantsCertificate = false;
    }
  });

  it('is refused with a CA that cannot be read', async () => {
    await expect(use(url('127.0.0.1', 'sslmode=verify-full&sslrootcert=CA.missing'))).rejects.toThrow(
      `sslrootcert: ${join(dir, 'ca.pem')}.missing cannot be read (ENOENT)`,
    );
  });
});

it('is used over IPv6', async () => {
  const server = await forward(asIs, { port: 0, host: '::1' });
  await use(urlAt((url) => {
    url.hostname = '[::1]';
    url.port = String(server.port);
  }));
  await server.close();
});

it('is used over a Unix socket', async () => {
  const server = await forward(asIs, { path: join(dir, '.s.PGSQL.5432') });
  await use(urlAt((url) => {
    url.port = '';
    url.searchParams.set('host', dir);
  }));
  await use(urlAt((url) => {
    url.port = '';
    url.hostname = encodeURIComponent(dir);
  }));
  await server.close();
});

it.each([
  ['PGOPTIONS', '-c no_such_parameter=1'],
  ['PGSSLMODE', 'require'],
  ['PGSSLNEGOTIATION', 'direct'],
  ['PGTARGETSESSIONATTRS', 'standby'],
])('is used as its URL says although %s is set for other programs', async (name, value) => {
  vi.stubEnv(name, value);
  try {
    await use(database.url);
  } finally {
    vi.unstubAllEnvs();
  }
});

it('keeps the parameters of the server', () => {
  const { url } = parseConnectionUrl('postgres://a:b@db/x?sslmode=require&options=-c%20search_path%3Dy&application_name=z');
  expect([...new URL(url).searchParams]).toEqual([['options', '-c search_path=y'], ['application_name', 'z']]);
});

it('knows the modes of libpq only', () => {
  expect(() => parseConnectionUrl('postgres://db/x?sslmode=verify')).toThrow(/^sslmode must be one of disable, allow, .*, not verify$/);
});
