/** URLs that are refused for what they say, before any packet. */
import { describe, expect, it } from 'vitest';
import { createNetClient } from '../../src/net/index.ts';
import { createUrlPolicy } from '../../src/net/policy.ts';
import { startFileServer } from '../helpers/fileserver.ts';

const privateMessage = 'This URL is not allowed: it must be a public http or https URL.';
const notAllowed = {
  name: 'ReelmendError',
  code: 'url_not_allowed',
  // Never what a name or a spelling leads to.
  message: expect.stringMatching(/^This URL is not allowed: its? (?!.*127\.0)[^\n]+\.$/) as unknown,
};
const sentenceStart = /^This URL is not allowed: /;

/** PORT stands for the port of a server that listens on loopback and must not be reached. */
const loopbackSpellings = [
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://0:PORT/',
  'http://127.0.0.1:PORT/a.mp4',
  'http://127.0.0.1.:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127。0。0。1:PORT/',
  'http://１２７.0.0.1:PORT/',
  'http:127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'ht\ntp://127.0.0.1:PORT/',
  'h\ttp://127.0.0.1:PORT/',
  ' http://127.0.0.1:PORT/ ',
  'http://public.example@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT\\@public.example/',
  'http://127.0.0.1:PORT#@public.example/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://a.localhost:PORT/',
  'http://ⓛocalhost:PORT/',
  'http://[::1]:PORT/',
  'http://[::]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::7f00:1]:PORT/',
  'http://[::ffff:0:7f00:1]:PORT/',
  'http://[64:ff9b::7f00:1]:PORT/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2001:0:7f00:1::]:PORT/',
];

/** What they are refused for, and what the sentence says of it. */
const refused: Record<string, [says: RegExp | string, ...urls: string[]]> = {
  'cloud metadata': [
    privateMessage,
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://metadata.google.internal/',
    'http://metadata.google.internal./',
    'http://metadata/',
    'http://instance-data/',
    'http://169.254.169.254.:80/',
  ],
  'special ranges': [
    privateMessage,
    'http://0.1.2.3/',
    'http://100.64.0.1/',
    'http://198.18.0.1/',
    'http://192.88.99.1/',
    'http://240.0.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[ff02::1]/',
    'http://[fe80::1]/',
    'http://[4000::1]/',
  ],
  'inside names': [
    privateMessage,
    'http://db/',
    'http://printer.local/',
    'http://db.internal/',
    'http://x.home.arpa/',
    'http://wiki.corp/',
    'http://router.lan/',
    'http://db.internal./',
    'http://db./',
  ],
  credentials: [/ no user name and no password\.$/, 'http://user:pw@public.example/', 'http://user@public.example/', 'http://:pw@public.example/'],
  'other schemes': [
    /: it must begin with http:\/\/ or https:\/\/\.$/,
    'file:///etc/passwd',
    'ftp://public.example/a.mp4',
    'gopher://public.example/',
    'data:video/mp4;base64,AAAA',
    'blob:http://public.example/1',
    'concat:a.mp4|b.mp4',
    'subfile,,start,0,end,9,,:/etc/passwd',
    'javascript:alert(1)',
    'ws://public.example/',
    'unix:/run/docker.sock',
    'http+unix://%2Frun%2Fdocker.sock/',
  ],
  'closed ports': [
    /: its port must be 80, 443, or one from 1024 on /,
    ...[0, 1, 22, 25, 53, 81, 110, 111, 139, 389, 445, 465, 587, 993, 1023, 2375, 3306, 5432, 5900, 6379]
      .concat([6000, 6443, 6667, 8500, 9200, 10250, 11211, 27017, 65536])
      .map((port) => `http://public.example:${port}/`),
  ],
  'what has no scheme': [/: it must begin with http/, '', 'video.mp4', '//public.example/a.mp4'],
  'what has no proper host': [
    /: its host must be a valid name or IP address\.$/,
    'http://',
    'http://pub%00lic.example/',
    'http://[::1/',
    'http://[fe80::1%25eth0]/',
    'http://256.1.1.1/',
    'http://public.example../',
    'http://.../',
  ],
  'a space in the host': [/: it must contain no spaces and no control characters\.$/, 'http://public .example/'],
};

describe('URL policy', () => {
  it.each(loopbackSpellings)('refuses %j without a connection', async (spelling) => {
    const server = await startFileServer({ paths: { '/': { body: 'inside' } } });
    const client = createNetClient({ allowHosts: [] });
    try {
      const url = spelling.replace('PORT', String(server.port));
      await expect(client.openVideo(url, { maxBytes: 1e9 })).rejects.toMatchObject(notAllowed);
      await expect(client.download(url, '/nonexistent/file', { maxBytes: 1e9 })).rejects.toThrow();
      await expect(
        client.post(url, { headers: {}, body: '', timeoutMs: 1000, maxResponseBytes: 1 }),
      ).rejects.toMatchObject(notAllowed);
      expect(server.connections).toBe(0);
    } finally {
      await client.close();
      await server.close();
    }
  });

  const { check } = createUrlPolicy({ allowHosts: [] });
  it.each(Object.entries(refused))('refuses %s', (_name, [says, ...urls]) => {
    for (const url of urls) expect(() => check(url), url).toThrow(says);
  });

  it('leaves the length to the contract: what that has taken may have grown by its spelling', () => {
    const url = `https://public.example/${'\u{1F600}'.repeat(2000)}`;
    expect(check(new URL(url).href).href.length).toBeGreaterThan(20_000);
  });

  it('passes public web addresses and returns them as URL spells them', () => {
    const passing = {
      'http://public.example/a.mp4': 'http://public.example/a.mp4',
      'https://public.example/a b.mp4?x=1#t': 'https://public.example/a%20b.mp4?x=1#t',
      'https://public.example:8443/': 'https://public.example:8443/',
      'http://public.example:8080/': 'http://public.example:8080/',
      'http://8.8.8.8/': 'http://8.8.8.8/',
      'http://134744072/': 'http://8.8.8.8/',
      'http://[2606:4700::1111]/': 'http://[2606:4700::1111]/',
      'HTTP://PUBLIC.example:80/%2e%2e/a': 'http://public.example/a',
      'https://bücher.example/': 'https://xn--bcher-kva.example/',
      'http://public.example./a.mp4': 'http://public.example./a.mp4',
      'https://[2606:4700:0:0::1111]:8443/a.mp4': 'https://[2606:4700::1111]:8443/a.mp4',
      // A Cyrillic look-alike is another name, and visibly so.
      'https://рublic.example/': 'https://xn--ublic-uye.example/',
      'http://localhost.example/': 'http://localhost.example/',
      // What follows the backslash is path, for every part of the service alike.
      'http://public.example\\@127.0.0.1:8080/': 'http://public.example/@127.0.0.1:8080/',
    };
    for (const [url, want] of Object.entries(passing)) expect(check(url).href).toBe(want);
  });

  it('logs the reason, and shows the customer nothing', () => {
    try {
      check('http://10.1.2.3/');
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message).toBe(privateMessage);
      expect(String((error as Error).cause)).toContain('10.1.2.3');
    }
  });

  describe('exemptions', () => {
    const policy = createUrlPolicy({
      allowHosts: ['127.0.0.1:5432', '[::1]:8080', 'Files.Internal:80', 'localhost:9000'],
    });
    it.each(['http://127.0.0.1:5432/', 'http://0x7f.1:5432/', 'http://[::1]:8080/', 'http://files.internal/', 'http://localhost.:9000/'])(
      'let %s pass',
      (url) => expect(policy.check(url)).toBeInstanceOf(URL),
    );
    it.each([
      'http://127.0.0.1/',
      'http://127.0.0.1:5433/',
      'http://127.0.0.2:5432/',
      'http://[::1]:8081/',
      'https://files.internal/',
      'http://localhost:5432/',
      'http://u:p@127.0.0.1:5432/',
      'ftp://127.0.0.1:5432/',
    ])('do not stretch to %s', (url) => expect(() => policy.check(url)).toThrow(sentenceStart));

    it.each(['127.0.0.1', 'host:', ':80', 'a b:80', 'http://host:80'])('must be host:port, not %j', (entry) => {
      expect(() => createUrlPolicy({ allowHosts: [entry] })).toThrow(/host:port/);
    });
  });

  it("refuses the service's own public addresses, also when they are allowed", () => {
    const policy = createUrlPolicy({ allowHosts: ['lift.example:8080'], denyHosts: ['lift.example', '1.2.3.4:8443', '[2606:4700::2]:443'] });
    for (const url of [
      'https://lift.example/',
      'http://LIFT.example:8080/v1',
      'http://lift.example./',
      'https://1.2.3.4:8443/',
      'https://[2606:4700:0::2]/',
    ]) {
      expect(() => policy.check(url), url).toThrow(privateMessage);
    }
    expect(policy.check('https://1.2.3.4/')).toBeInstanceOf(URL);
    expect(policy.check('https://other.example/')).toBeInstanceOf(URL);
  });
});
