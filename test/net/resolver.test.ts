/** How names of customers' servers are resolved: real queries to a name server of the test. */
import type { LookupAddress } from 'node:dns';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createNetClient, createResolver } from '../../src/net/index.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { type DnsBehaviour, type NameServer, startNameServer } from '../helpers/nameserver.ts';
import { eventually, hangMs } from '../helpers/wait.ts';

const v4 = (address: string): LookupAddress => ({ address, family: 4 });
const v6 = (address: string): LookupAddress => ({ address, family: 6 });

let folder: string;
let hostsFile: string;
let dns: NameServer;
let files: FileServer;
/** by `name type`, then by name */
const zone = new Map<string, DnsBehaviour | Promise<DnsBehaviour>>();
const resolverWith = (responseMs: number) => createResolver({ servers: [dns.hostPort], hostsFile, responseMs });
const resolve = (name: string, signal?: AbortSignal) => resolverWith(hangMs)(name, signal);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-test-resolver-'));
  hostsFile = join(folder, 'hosts');
  dns = await startNameServer((name, type) => zone.get(`${name} ${type}`) ?? zone.get(name) ?? 'nxdomain');
  files = await startFileServer({ paths: { '/a.mp4': { body: '0123456789' }, '/hook': { body: 'thanks' } } });
});
afterAll(async () => {
  await dns.close();
  await files.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  dns.questions.length = 0;
  zone.clear();
  await writeFile(hostsFile, '127.0.0.1 localhost\n');
});

describe('a name', () => {
  const answers: { name: string; records: Record<string, DnsBehaviour>; addresses: LookupAddress[] }[] = [
    { name: 'both families', records: { 'a.example': ['192.0.2.1', '2001:db8::1'] }, addresses: [v4('192.0.2.1'), v6('2001:db8::1')] },
    { name: 'IPv4 alone', records: { 'a.example': ['192.0.2.1', '192.0.2.2'] }, addresses: [v4('192.0.2.1'), v4('192.0.2.2')] },
    { name: 'IPv6 alone', records: { 'a.example': ['2001:db8::1'] }, addresses: [v6('2001:db8::1')] },
    { name: 'IPv4 and a failure for IPv6', records: { 'a.example A': ['192.0.2.1'], 'a.example AAAA': 'servfail' }, addresses: [v4('192.0.2.1')] },
    { name: 'IPv4 and silence for IPv6', records: { 'a.example A': ['192.0.2.1'], 'a.example AAAA': 'silent' }, addresses: [v4('192.0.2.1')] },
  ];
  it.each(answers)('with $name resolves to it', async ({ records, addresses }) => {
    for (const [name, behaviour] of Object.entries(records)) zone.set(name, behaviour);
    expect(await resolve('a.example')).toEqual(addresses);
  });

  it.each([
    { name: 'that does not exist', records: { 'a.example': 'nxdomain' }, code: 'ENOTFOUND' },
    { name: 'without an address', records: { 'a.example': [] }, code: 'ENOTFOUND' },
    { name: 'of a broken zone', records: { 'a.example': 'servfail' }, code: 'EAI_AGAIN' },
    { name: 'of a zone that is broken for IPv6 and empty for IPv4', records: { 'a.example A': [], 'a.example AAAA': 'servfail' }, code: 'EAI_AGAIN' },
  ] as { name: string; records: Record<string, DnsBehaviour>; code: string }[])('$name rejects as dns.lookup does, with $code', async ({ records, code }) => {
    for (const [name, behaviour] of Object.entries(records)) zone.set(name, behaviour);
    await expect(resolve('a.example')).rejects.toMatchObject({ code });
  });

  it('of a silent name server is asked for twice, then rejects with EAI_AGAIN', async () => {
    zone.set('a.example', 'silent');
    await expect(resolverWith(300)('a.example')).rejects.toMatchObject({ code: 'EAI_AGAIN', cause: { code: 'ETIMEOUT' } });
    expect(dns.questions).toHaveLength(4);
  });

  it('rejects with EAI_AGAIN when no name server listens: that says nothing about the customer’s server', async () => {
    const gone = await startNameServer(() => 'silent');
    await gone.close();
    await expect(createResolver({ servers: [gone.hostPort], hostsFile })('a.example')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('is looked up in the hosts file first, with all its lines', async () => {
    await writeFile(hostsFile, '# 192.0.2.9 a.example\n192.0.2.1\tb.example A.example # c.example\n2001:db8::1 a.example\nnonsense a.example\n');
    expect(await resolve('a.example')).toEqual([v4('192.0.2.1'), v6('2001:db8::1')]);
    expect(dns.questions).toEqual([]);
    zone.set('c.example', ['192.0.2.3']);
    expect(await resolve('c.example')).toEqual([v4('192.0.2.3')]);
    await rm(hostsFile);
    await expect(resolve('a.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('is asked for as it stands, without search domains', async () => {
    zone.set('intranet', ['192.0.2.1']);
    await resolve('intranet');
    expect(new Set(dns.questions.map(({ name }) => name))).toEqual(new Set(['intranet']));
  });

  it('is no longer asked for when its connection is given up', async () => {
    zone.set('slow.example', 'silent');
    const gone = new AbortController();
    const answer = resolve('slow.example', gone.signal);
    await eventually(() => dns.questions.length === 2);
    gone.abort();
    // A query that went on would be repeated once.
    await expect(answer).rejects.toMatchObject({ code: 'EAI_AGAIN', cause: { code: 'ECANCELLED' } });
    expect(dns.questions).toHaveLength(2);
  });
});

describe('17: names whose name server is silent', () => {
  it('delay neither another video nor another webhook', async () => {
    zone.set('good.example', ['127.0.0.1']);
    const client = createNetClient({ allowHosts: [`good.example:${files.port}`], resolver: resolverWith(hangMs), timeouts: { connectMs: hangMs, headersMs: hangMs } });
    const names = Array.from({ length: 20 }, (_, n) => `slow${n}.example`);
    const over = Promise.withResolvers<DnsBehaviour>();
    for (const name of names) zone.set(name, over.promise);
    let ended = 0;
    const options = { headers: {}, body: '{}', timeoutMs: hangMs, maxResponseBytes: 100 };
    const slow = names.map((name, n) => {
      const request = n % 2 === 0 ? client.openVideo(`http://${name}/a.mp4`, { maxBytes: 1e9 }) : client.post(`http://${name}/hook`, options);
      return request.catch((error: unknown) => error).finally(() => (ended += 1));
    });
    await eventually(() => dns.questions.length >= 2 * names.length);
    const video = await client.openVideo(`http://good.example:${files.port}/a.mp4`, { maxBytes: 1e9 });
    const response = await client.post(`http://good.example:${files.port}/hook`, options);
    expect([video.size, response.status]).toEqual([10, 200]);
    expect(ended).toBe(0);
    over.resolve('nxdomain');
    for (const error of await Promise.all(slow)) expect(error).toMatchObject({ message: expect.stringMatching(/the server's name cannot be resolved/) });
    await client.close();
  });

  it('end with the time limit of the connection', async () => {
    zone.set('slow.example', 'silent');
    const client = createNetClient({ allowHosts: [], resolver: resolverWith(hangMs), timeouts: { connectMs: 300, attempts: 1 } });
    await expect(client.openVideo('http://slow.example/a.mp4', { maxBytes: 1e9 })).rejects.toMatchObject({
      code: 'video_unreachable',
      message: 'The video cannot be read: the server did not accept the connection in time.',
    });
    await client.close();
  });
});
