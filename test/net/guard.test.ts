/** The guard on the wire: names, rebinding, connected sockets, redirects, TLS, proxies. */
import { connect as tcpConnect } from 'node:net';
import type { Socket, TcpNetConnectOpts } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LookupAddress } from 'node:dns';
import { createNetClient } from '../../src/net/index.ts';
import type { GuardedClient, NetClientOptions } from '../../src/net/index.ts';
import type { Resolver } from '../../src/net/resolver.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import type { FileServer } from '../helpers/fileserver.ts';
import { makeCertificate, startBusyServer, startRawServer } from '../helpers/rawserver.ts';
import { hangMs } from '../helpers/wait.ts';

const notAllowed = { code: 'url_not_allowed', message: expect.stringMatching(/^This URL is not allowed: it must be/) };
const redirected = { code: 'url_not_allowed', message: expect.stringMatching(/^This URL redirects to one that is not allowed: its? [^\d]*(80, 443.*)?\.$/) };
/** Nothing here is too slow, however busy the machine is; tests of a limit set theirs. */
const timeouts = { connectMs: hangMs, headersMs: hangMs, idleMs: hangMs, retryDelayMs: 5, attempts: 2 };
const certificate = await makeCertificate();

let server: FileServer;
let client: GuardedClient;

beforeEach(async () => {
  server = await startFileServer({ paths: { '/a.mp4': { body: '0123456789' } } });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

function use(options: Partial<NetClientOptions> = {}): GuardedClient {
  client = createNetClient({ allowHosts: [server.hostPort], timeouts, ...options });
  return client;
}

const open = (url: string) => client.openVideo(url, { maxBytes: 1e9 });

const v4 = (address: string): LookupAddress => ({ address, family: 4 });
const v6 = (address: string): LookupAddress => ({ address, family: 6 });

/** A TCP layer that never leaves this machine: it runs the lookup as net.connect would, then goes to the server. */
function loopbackTcp(tried: string[]): (options: TcpNetConnectOpts) => Socket {
  return (options) => {
    const socket = tcpConnect({ host: '127.0.0.1', port: server.port });
    // The real connection waits for the decision about the name.
    options.lookup?.(options.host ?? '', { all: true }, (error, addresses) => {
      if (error !== null) return void socket.destroy(error);
      for (const { address } of addresses as unknown as LookupAddress[]) tried.push(address);
    });
    return socket;
  };
}

describe('names', () => {
  const answers: { name: string; addresses: LookupAddress[] }[] = [
    { name: 'a public address, then loopback', addresses: [v4('8.8.8.8'), v4('127.0.0.1')] },
    { name: 'loopback, then a public address', addresses: [v4('127.0.0.1'), v4('8.8.8.8')] },
    { name: 'a bad AAAA beside a good A', addresses: [v4('8.8.8.8'), v6('::1')] },
    { name: 'a bad A beside a good AAAA', addresses: [v6('2606:4700::1111'), v4('10.0.0.1')] },
    { name: 'an IPv4-compatible AAAA', addresses: [v6('::7f00:1')] },
    { name: 'a mapped AAAA', addresses: [v6('::ffff:127.0.0.1')] },
    { name: 'cloud metadata', addresses: [v4('169.254.169.254')] },
    { name: 'what is no address', addresses: [v4('localhost')] },
  ];
  it.each(answers)('that resolve to $name are refused without a connection', async ({ addresses }) => {
    use({ resolver: async () => addresses });
    await expect(open(`http://public.example:${server.port}/a.mp4`)).rejects.toMatchObject(notAllowed);
    expect(server.connections).toBe(0);
  });

  it('connect only to the addresses that were checked, although the next answer would be loopback (rebinding)', async () => {
    let lookups = 0;
    const tried: string[] = [];
    const resolver = async () => {
      lookups += 1;
      return lookups === 1 ? [v4('8.8.8.8'), v4('8.8.4.4')] : [v4('127.0.0.1')];
    };
    use({ resolver, tcp: loopbackTcp(tried), timeouts: { ...timeouts, attempts: 1 } });
    await open('http://public.example:8080/a.mp4').catch(() => undefined);
    expect(lookups).toBe(1);
    expect(tried).toEqual(['8.8.8.8', '8.8.4.4']);
  });

  it('are checked again at every new connection', async () => {
    let lookups = 0;
    const resolver = async () => {
      lookups += 1;
      return [v4(lookups === 1 ? '127.0.0.1' : '127.0.0.2')];
    };
    use({ resolver, allowHosts: [] });
    for (let i = 1; i <= 3; i += 1) {
      await expect(open('http://public.example:8080/a.mp4')).rejects.toMatchObject(notAllowed);
      expect(lookups).toBe(i);
    }
  });

  it('that do not resolve are unreachable, in one sentence', async () => {
    const resolver = () =>
      Promise.reject(Object.assign(new Error('queryA ENOTFOUND ns.inside'), { code: 'ENOTFOUND' }));
    use({ resolver });
    await expect(open('http://public.example/a.mp4')).rejects.toMatchObject({
      code: 'video_unreachable',
      message: "The video cannot be read: the server's name cannot be resolved.",
    });
    use({ resolver: async () => [] });
    await expect(open('http://public.example/a.mp4')).rejects.toMatchObject({ code: 'video_unreachable' });
  });

  it('that never resolve run into the time limit', async () => {
    use({ resolver: () => new Promise(() => undefined), timeouts: { ...timeouts, connectMs: 100, attempts: 1 } });
    await expect(open('http://public.example/a.mp4')).rejects.toMatchObject({
      code: 'video_unreachable',
      message: 'The video cannot be read: the server did not accept the connection in time.',
    });
  });

  it('that never resolve keep nobody waiting who has given up', async () => {
    let ended: AbortSignal | undefined;
    const resolver: Resolver = (_name, signal) => {
      ended = signal;
      return new Promise(() => undefined);
    };
    use({ resolver, timeouts: { ...timeouts, connectMs: 20_000, attempts: 1 } });
    const reason = new Error('the client has disconnected');
    const gone = new AbortController();
    const began = performance.now();
    const opened = client.openVideo('http://public.example/a.mp4', { maxBytes: 1e9, signal: gone.signal });
    setTimeout(() => gone.abort(reason), 50);
    await expect(opened).rejects.toBe(reason);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(ended?.aborted).toBe(true);
  });

  it('with a distant server are reached, also beside an address that this machine cannot reach', async () => {
    const busy = await startBusyServer(700);
    use({ allowHosts: [`far.example:${busy.port}`], resolver: async () => [v4('127.0.0.1'), v6('::1')], timeouts: { ...timeouts, attempts: 1 } });
    const opened = await open(`http://far.example:${busy.port}/a.mp4`).catch((error: unknown) => error);
    await busy.close();
    expect(opened).toMatchObject({ size: 4 });
  });

  it('that are exempt reach the private address, and only on their port', async () => {
    const other = await startFileServer({ paths: { '/a.mp4': { body: 'x' } } });
    use({ allowHosts: [`files.example:${server.port}`], resolver: async () => [v4('127.0.0.1')] });
    const video = await open(`http://files.example:${server.port}/a.mp4`);
    expect(video.size).toBe(10);
    await expect(open(`http://files.example:${other.port}/a.mp4`)).rejects.toMatchObject(notAllowed);
    expect(other.connections).toBe(0);
    await other.close();
  });
});

describe('the connected socket', () => {
  it('is checked by its real peer address, before a byte is written', async () => {
    const raw = await startRawServer(() => undefined);
    const tcp = () => tcpConnect({ host: '127.0.0.1', port: raw.port });
    for (const url of ['http://8.8.8.8:8080/a.mp4', 'https://public.example:8443/a.mp4']) {
      use({ allowHosts: [], tcp, resolver: async () => [v4('8.8.8.8')] });
      await expect(open(url)).rejects.toMatchObject(notAllowed);
    }
    expect([raw.connections, raw.received]).toEqual([2, '']);
    await raw.close();
  });
});

describe('redirects', () => {
  const inside = 'http://127.0.0.1:PORT/secret';
  const targets: { name: string; location: string }[] = [
    { name: 'a private address', location: inside },
    { name: 'a private address in disguise', location: 'http://2130706433:PORT/secret' },
    { name: 'a private address without a scheme', location: '//127.0.0.1:PORT/secret' },
    { name: 'localhost', location: 'http://localhost:PORT/secret' },
    { name: 'cloud metadata', location: 'http://169.254.169.254/latest/meta-data/' },
    { name: 'a file', location: 'file:///etc/passwd' },
    { name: 'a closed port', location: 'http://public.example:6379/' },
    { name: 'credentials', location: 'http://user:pw@public.example/' },
  ];
  it.each(targets)('to $name are refused at that hop', async ({ location }) => {
    const secret = await startFileServer({ paths: { '/secret': { body: 'inside' } } });
    server.behave('/go', { redirect: location.replace('PORT', String(secret.port)) });
    use();
    await expect(open(`${server.url}/go`)).rejects.toMatchObject(redirected);
    await expect(client.download(`${server.url}/go`, '/tmp/reelmend-never', { maxBytes: 1e9 })).rejects.toMatchObject(
      redirected,
    );
    expect(secret.connections).toBe(0);
    await secret.close();
  });

  it('to a name that resolves to a private address are refused, and the response does not reveal the address', async () => {
    server.behave('/go', { redirect: 'http://public.example:8080/a.mp4' });
    use({ resolver: async () => [v4('10.1.2.3')] });
    await expect(open(`${server.url}/go`)).rejects.toMatchObject({
      code: 'url_not_allowed',
      message: 'This URL redirects to one that is not allowed: it must be a public http or https URL.',
    });
  });

  it('may be longer than a URL that is given', async () => {
    server.behave('/go', { redirect: `/a.mp4?token=${'a'.repeat(5000)}` });
    use();
    expect((await open(`${server.url}/go`)).size).toBe(10);
  });

  it('are followed when they are relative or absolute, for each redirect status', async () => {
    use();
    for (const [i, status] of [301, 302, 303, 307, 308].entries()) {
      server.behave(`/s${status}`, { status, redirect: i % 2 === 0 ? 'a.mp4' : `${server.url}/a.mp4` });
      const video = await open(`${server.url}/s${status}`);
      expect([server.requests.at(-1)!.path, video.size]).toEqual(['/a.mp4', 10]);
      await video.close();
    }
    expect(server.requests.map((request) => request.method)).not.toContain('POST');
  });

  it.each([
    { name: 'UTF-8, as browsers read it', location: Buffer.from('/видео 1.mp4?x=ü'), path: '/%D0%B2%D0%B8%D0%B4%D0%B5%D0%BE%201.mp4?x=%C3%BC' },
    { name: 'no UTF-8', location: Buffer.from('/café.mp4', 'latin1'), path: '/caf%C3%A9.mp4' },
  ])('are followed when the bytes of their URL are $name', async ({ location, path }) => {
    server.behave('/go', { redirect: location.toString('latin1') });
    server.behave('*', { body: '0123456789' });
    use();
    expect((await open(`${server.url}/go`)).size).toBe(10);
    expect(server.requests.at(-1)!.path).toBe(path);
  });

  it('are followed five times and not six', async () => {
    for (let i = 1; i <= 6; i += 1) server.behave(`/${i}`, { redirect: i === 1 ? '/a.mp4' : `/${i - 1}` });
    use();
    expect((await open(`${server.url}/5`)).size).toBe(10);
    await expect(open(`${server.url}/6`)).rejects.toMatchObject({
      code: 'video_unreachable',
      message: 'The video cannot be read: the server redirects more than 5 times.',
    });
  });

  it.each([
    { name: 'in a circle', behaviour: { redirect: '/go' } },
    { name: 'without a Location', behaviour: { status: 302 } },
    { name: 'to what is no URL', behaviour: { redirect: 'http://[' } },
    { name: 'as 304', behaviour: { status: 304 } },
  ])('$name are unreachable', async ({ behaviour }) => {
    server.behave('/go', behaviour);
    use();
    await expect(open(`${server.url}/go`)).rejects.toMatchObject({ code: 'video_unreachable' });
    expect(server.requests.length).toBeLessThanOrEqual(6);
  });

  it('carry no cookies, referrer or credentials along', async () => {
    server.behave('/go', { redirect: '/a.mp4', headers: { 'set-cookie': 'a=b', 'www-authenticate': 'Basic' } });
    use();
    await open(`${server.url}/go`);
    const sent = server.requests.flatMap((request) => Object.keys(request.headers));
    expect(new Set(sent)).toEqual(new Set(['host', 'connection', 'user-agent', 'accept', 'accept-encoding', 'range']));
    for (const { headers } of server.requests) expect(headers['accept-encoding']).toBe('identity');
  });
});

describe.skipIf(certificate === null)('TLS', () => {
  let secure: FileServer;
  beforeEach(async () => {
    secure = await startFileServer({ tls: certificate!, paths: { '/a.mp4': { body: '0123456789' } } });
  });
  afterEach(() => secure.close());
  const allow = () => ({ allowHosts: [secure.hostPort, server.hostPort] });

  it('works with a certificate that is trusted', async () => {
    use({ ...allow(), ca: [certificate!.cert] });
    expect((await open(`${secure.url}/a.mp4`)).size).toBe(10);
  });

  it('refuses a certificate that is not, whatever the environment says', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      use(allow());
      await expect(open(`${secure.url}/a.mp4`)).rejects.toMatchObject({
        code: 'video_unreachable',
        message: "The video cannot be read: the server's TLS certificate or handshake is not valid.",
      });
      expect(secure.requests).toEqual([]);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });

  it('is not left by a redirect, but may be entered by one', async () => {
    secure.behave('/down', { redirect: `${server.url}/a.mp4` });
    server.behave('/up', { redirect: `${secure.url}/a.mp4` });
    use({ ...allow(), ca: [certificate!.cert] });
    await expect(open(`${secure.url}/down`)).rejects.toMatchObject({
      code: 'video_unreachable',
      message: 'The video cannot be read: the server redirects from https to unencrypted http.',
    });
    expect((await open(`${server.url}/up`)).size).toBe(10);
    expect(secure.requests.at(-1)!.path).toBe('/a.mp4');
  });

  it('that stalls in the handshake runs into the time limit', async () => {
    const raw = await startRawServer(() => undefined);
    use({ allowHosts: [raw.hostPort], timeouts: { ...timeouts, connectMs: 100, attempts: 1 } });
    await expect(open(`https://${raw.hostPort}/`)).rejects.toMatchObject({ code: 'video_unreachable' });
    await raw.close();
  });

  it('asked of a server without it is unreachable', async () => {
    use();
    await expect(open(`${server.url.replace('http:', 'https:')}/a.mp4`)).rejects.toMatchObject({
      code: 'video_unreachable',
    });
  });
});

describe('proxies', () => {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'NODE_USE_ENV_PROXY'];
  afterEach(() => {
    for (const name of names) delete process.env[name];
  });

  it('named in the environment are not asked', async () => {
    const proxy = await startRawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://${proxy.hostPort}`;
    use();
    expect((await open(`${server.url}/a.mp4`)).size).toBe(10);
    await expect(open('http://169.254.169.254/')).rejects.toMatchObject(notAllowed);
    expect(proxy.connections).toBe(0);
    await proxy.close();
  });
});

describe('the log', () => {
  it('names host and port of a failed request and never its path or query', async () => {
    const lines: string[] = [];
    const write = (facts: object, message: string) => lines.push(JSON.stringify(facts) + message);
    use({ logger: { debug: write, warn: write } });
    server.behave('/private', { redirect: 'http://10.0.0.1/canary?token=canary' });
    await expect(open(`${server.url}/private?key=canary`)).rejects.toMatchObject(redirected);
    const raw = await startRawServer((socket) => socket.destroy());
    use({ allowHosts: [raw.hostPort], logger: { debug: write, warn: write } });
    await expect(open(`http://${raw.hostPort}/a?key=canary`)).rejects.toMatchObject({ code: 'video_unreachable' });
    expect(lines.join('\n')).toContain(String(raw.port));
    expect(lines.join('\n')).toContain('10.0.0.1');
    expect(lines.join('\n')).not.toContain('canary');
    await raw.close();
  });
});
