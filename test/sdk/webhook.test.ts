/** verifyWebhook against vectors, `standardwebhooks` as independent signer and verifier, and forgers. */
import { createHmac, randomBytes } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { Headers as ForeignHeaders } from 'undici';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyWebhook, type VerifyWebhookOptions, WebhookVerificationError } from '../../src/sdk/index.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const body = '{"event":"job.completed","job_id":"job_01jdq4s9xkf5v8t2m6w0c3rhbz","status":"done"}';
const id = 'evt_01jdq4s9xkf5v8t2m6w0c3rhbz';
const now = new Date('2026-11-21T08:00:00Z');
const seconds = String(now.getTime() / 1000);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now });
});
afterEach(() => {
  vi.useRealTimers();
});

type PlainHeaders = Record<string, string>;

const decoded = (text: string) => Buffer.from(text.slice('whsec_'.length), 'base64');
const hex = (key: Buffer, content: string | Buffer) => createHmac('sha256', key).update(content).digest('hex');

interface SignOptions {
  /** newest first */
  secrets?: string[];
  /** signs x-service-signature; default: the newest */
  service?: string;
  at?: Date;
}

/** What the service sends: the standard headers by the independent signer. */
function signedHeaders(content: string, options: SignOptions = {}): PlainHeaders {
  const { secrets = [secret], service = secrets[0]!, at = now } = options;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map((one) => new Webhook(one).sign(id, at, content)).join(' '),
    'x-service-signature': hex(Buffer.from(service), content),
  };
}

const headers = () => signedHeaders(body);
const codeOf = async (options: VerifyWebhookOptions) =>
  verifyWebhook(options).then(
    () => 'accepted',
    (error: unknown) => {
      expect(error).toBeInstanceOf(WebhookVerificationError);
      return (error as WebhookVerificationError).code;
    },
  );

describe('a webhook of the service', () => {
  it('is accepted as a fixed vector', async () => {
    const vector = {
      'webhook-id': id,
      'webhook-timestamp': '1795248000',
      'webhook-signature': 'v1,/AiwAoN1lxi/dE1OkWGkLCcaxDK2+mrujE+d70C2TPc=',
      'x-service-signature': 'cdebdc69cdaab854ad71b1a75cdc7b29af12062570d035d89ef63f65c03a6486',
    };
    expect(signedHeaders(body)).toEqual(vector);
    expect(await verifyWebhook({ body, headers: vector, secret })).toEqual(JSON.parse(body));
  });

  it.each<[string, (content: string) => VerifyWebhookOptions['body']]>([
    ['text', (content) => content],
    ['a Buffer', (content) => Buffer.from(content)],
    [
      'a view into a larger buffer',
      (content) => new Uint8Array(Buffer.from(`xx${content}yy`)).subarray(2, 2 + Buffer.byteLength(content)),
    ],
    ['an ArrayBuffer', (content) => new TextEncoder().encode(content).buffer],
  ])('is accepted with its body as %s', async (_name, make) => {
    expect(await verifyWebhook({ body: make(body), headers: headers(), secret })).toEqual(JSON.parse(body));
  });

  it('is accepted with headers in every form', async () => {
    const upper = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]));
    const lists = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name, [value]]));
    for (const form of [headers(), upper, lists, new Headers(headers()), new ForeignHeaders(headers())]) {
      expect(await codeOf({ body, headers: form, secret })).toBe('accepted');
    }
  });

  it('names the mistake of a receiver whose framework has parsed the body, or read none', async () => {
    for (const parsed of [JSON.parse(body), undefined, null, {}, [...Buffer.from(body)]]) {
      const verified = verifyWebhook({ body: parsed as never, headers: headers(), secret });
      await expect(verified).rejects.toThrow(TypeError);
      await expect(verified).rejects.toThrow('body must be the raw body');
    }
    const { buffer } = runInNewContext(`new Uint8Array(${JSON.stringify([...Buffer.from(body)])})`) as { buffer: ArrayBuffer };
    expect(await codeOf({ body: buffer, headers: headers(), secret })).toBe('accepted');
  });

  it('of a failed job is typed', async () => {
    const failed = '{"event":"job.failed","job_id":"job_1","status":"error"}';
    const event = await verifyWebhook({ body: failed, headers: signedHeaders(failed), secret });
    if (event.event !== 'job.failed') throw new Error('not narrowed');
    const status: 'error' = event.status;
    expect(status).toBe('error');
  });
});

describe('verifier and the independent package agree', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 });

  it('on what either signs', async () => {
    const property = fc.asyncProperty(
      text,
      text,
      fc.uint8Array({ minLength: 24, maxLength: 64 }),
      async (jobId, status, key) => {
        const own = `whsec_${Buffer.from(key).toString('base64')}`;
        const content = JSON.stringify({ event: 'job.completed', job_id: jobId, status });
        const signed = signedHeaders(content, { secrets: [own] });
        const event = await verifyWebhook({ body: content, headers: signed, secret: own });
        expect(event).toEqual(new Webhook(own).verify(content, signed));
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });

  it('on what was changed', async () => {
    const names = Object.keys(headers());
    const property = fc.asyncProperty(
      fc.nat(names.length),
      fc.nat(),
      fc.integer({ min: 1, max: 127 }),
      async (part, at, flip) => {
        const changed = headers();
        const alter = (value: string) => {
          const bytes = Buffer.from(value, 'latin1');
          bytes[at % bytes.length]! ^= flip;
          return bytes.toString('latin1');
        };
        const content = part === names.length ? alter(body) : body;
        const name = names[part];
        if (name !== undefined) changed[name] = alter(changed[name]!);
        expect(await codeOf({ body: content, headers: changed, secret })).not.toBe('accepted');
        if (name !== 'x-service-signature') expect(() => new Webhook(secret).verify(content, changed)).toThrow();
      },
    );
    await fc.assert(property, { numRuns: 500 });
  });
});

describe('a webhook is refused', () => {
  it.each(Object.keys(headers()))('without %s', async (name) => {
    const { [name]: _gone, ...rest } = headers();
    expect(await codeOf({ body, headers: rest, secret })).toBe('missing_header');
    expect(await codeOf({ body, headers: { ...rest, [name]: '' }, secret })).toBe('missing_header');
  });

  it('when the hex signature is keyed with the decoded secret', async () => {
    const sent = { ...headers(), 'x-service-signature': hex(decoded(secret), body) };
    expect(await codeOf({ body, headers: sent, secret })).toBe('signature_mismatch');
  });

  it('under another secret', async () => {
    const other = `whsec_${randomBytes(24).toString('base64')}`;
    expect(await codeOf({ body, headers: headers(), secret: other })).toBe('signature_mismatch');
  });

  it('when only one of the two signatures is right', async () => {
    const forged = signedHeaders(body, { secrets: [`whsec_${randomBytes(24).toString('base64')}`] });
    for (const name of ['webhook-signature', 'x-service-signature']) {
      const mixed = { ...headers(), [name]: forged[name]! };
      expect(await codeOf({ body, headers: mixed, secret })).toBe('signature_mismatch');
    }
  });

  it('when its signature is spelled otherwise', async () => {
    const good = headers();
    const signature = good['webhook-signature']!;
    const standard = [
      signature.slice(3),
      signature.replace('v1,', 'v2,'),
      signature.replace('v1,', 'v1a,'),
      signature.replace('v1,', 'v1,,'),
      signature.replace(/=$/, ''),
      `${signature}=`,
      'v1,',
      signature.replace(/.=$/, (end) => `${next(end[0]!)}=`),
    ];
    for (const text of standard) {
      expect(await codeOf({ body, headers: { ...good, 'webhook-signature': text }, secret }), text).toBe(
        'signature_mismatch',
      );
    }
    const service = good['x-service-signature']!;
    for (const text of [
      service.toUpperCase(),
      service.slice(2),
      `${service}00`,
      `sha256=${service}`,
      `${service}, ${service}`,
    ]) {
      expect(await codeOf({ body, headers: { ...good, 'x-service-signature': text }, secret }), text).toBe(
        'invalid_header',
      );
    }
  });

  /** The next letter of the alphabet: differs only in the bits that base64 of 32 bytes does not use. */
  function next(letter: string): string {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    return alphabet[alphabet.indexOf(letter) + 1]!;
  }

  it('when a header comes twice that is no list', async () => {
    for (const [name, value] of Object.entries(headers())) {
      if (name === 'webhook-signature') continue;
      expect(await codeOf({ body, headers: { ...headers(), [name]: [value, value] }, secret }), name).not.toBe(
        'accepted',
      );
      const both = { ...headers(), [name.toUpperCase()]: value };
      expect(await codeOf({ body, headers: both, secret }), name).not.toBe('accepted');
    }
  });

  it.each(['', ' ', 'now', '-1', '+1795248000', '1795248000.5', '0x6b', '1795248000abc', '1e9', '9'.repeat(13)])(
    'with the timestamp %j',
    async (text) => {
      const code = await codeOf({ body, headers: { ...headers(), 'webhook-timestamp': text }, secret });
      expect(code).toBe(text === '' ? 'missing_header' : 'invalid_header');
    },
  );

  it.each([
    [-301, {}, 'timestamp_too_old'],
    [-300, {}, 'accepted'],
    [300, {}, 'accepted'],
    [301, {}, 'timestamp_too_new'],
    [-11, { toleranceS: 10 }, 'timestamp_too_old'],
    [-10, { toleranceS: 10 }, 'accepted'],
    [-86_400, { toleranceS: 86_400 }, 'accepted'],
  ])('or not, when it was sent %i s from now with %j: %s', async (offsetS, options, expected) => {
    const sent = signedHeaders(body, { at: new Date(now.getTime() + offsetS * 1000) });
    expect(await codeOf({ body, headers: sent, secret, ...options })).toBe(expected);
  });

  it.each([Number.NaN, '5 minutes' as unknown as number])('names the mistake of a receiver whose tolerance is no number (%s)', async (toleranceS) => {
    const verified = verifyWebhook({ body, headers: signedHeaders(body, { at: new Date(0) }), secret, toleranceS });
    await expect(verified).rejects.toThrow(new TypeError('toleranceS must be a number of seconds.'));
  });

  it('when it is played again under another id or at another time', async () => {
    const later = String(Number(seconds) + 100);
    expect(await codeOf({ body, headers: { ...headers(), 'webhook-timestamp': later }, secret })).toBe(
      'signature_mismatch',
    );
    expect(await codeOf({ body, headers: { ...headers(), 'webhook-id': 'evt_2' }, secret })).toBe('signature_mismatch');
  });

  it.each(['null', '[]', '"x"', '{}', '{"event":1,"job_id":"a","status":"done"}', '{"event":"job.completed"', ''])(
    'when its signed body is %j',
    async (content) => {
      expect(await codeOf({ body: content, headers: signedHeaders(content), secret })).toBe('invalid_body');
    },
  );

  it('when its signed body is not UTF-8', async () => {
    const bytes = Buffer.from('{"event":"\xff","job_id":"a","status":"done"}', 'latin1');
    const content = Buffer.concat([Buffer.from(`${id}.${seconds}.`), bytes]);
    const signature = createHmac('sha256', decoded(secret)).update(content).digest('base64');
    const sent = {
      ...headers(),
      'webhook-signature': `v1,${signature}`,
      'x-service-signature': hex(Buffer.from(secret), bytes),
    };
    expect(await codeOf({ body: bytes, headers: sent, secret })).toBe('invalid_body');
  });

  it('or rather the receiver is, without a secret', async () => {
    expect(await codeOf({ body, headers: headers(), secret: [] })).toBe('invalid_secret');
  });

  it.each(['', 'whsec_', 'svc_test_abc', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_!!!', 'whsec_A', 'whsec_AB=C', 'whsec_AAAA=', 'whsec_AA='])(
    'or rather the receiver is, with the secret %j',
    async (bad) => {
      expect(await codeOf({ body, headers: headers(), secret: bad })).toBe('invalid_secret');
    },
  );
});

describe('while one secret replaces another', () => {
  const old = `whsec_${randomBytes(32).toString('base64')}`;
  const fresh = `whsec_${randomBytes(32).toString('base64')}`;
  const overlap = (service = old) => signedHeaders(body, { secrets: [fresh, old], service });

  it('a receiver with either secret, or both, accepts, before the switch of x-service-signature and after', async () => {
    for (const service of [old, fresh]) {
      for (const known of [old, fresh, [old, fresh], [fresh, old]]) {
        expect(await codeOf({ body, headers: overlap(service), secret: known })).toBe('accepted');
      }
    }
  });

  it('a receiver with both accepts what one of them signed', async () => {
    for (const signer of [old, fresh]) {
      const sent = signedHeaders(body, { secrets: [signer] });
      expect(await codeOf({ body, headers: sent, secret: [old, fresh] })).toBe('accepted');
    }
  });

  it('a third secret is refused', async () => {
    expect(await codeOf({ body, headers: overlap(), secret })).toBe('signature_mismatch');
  });
});
