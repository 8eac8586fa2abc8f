/** The three receivers of docs/webhooks.md, as printed there, against deliveries of the running service. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webhookHeaders } from '../../src/domain/webhooks.ts';
import { call, createCustomer, createSite, type Site } from '../helpers/service.ts';
import { hangMs } from '../helpers/wait.ts';
import { freePorts } from '../helpers/ports.ts';
import { createProject, type Project } from '../sdk/project.ts';
import { readMarkdown } from './markdown.ts';
import { end } from './reader.ts';

const run = promisify(execFile);

interface Delivery {
  headers: Record<string, string>;
  body: string;
}

/** Answers 204 and keeps what came. */
async function startCapture() {
  const waiting: ((delivery: Delivery) => void)[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      response.writeHead(204).end();
      waiting.shift()?.({ headers: signed(request.headers), body: body.toString() });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const next = () => new Promise<Delivery>((resolve) => waiting.push(resolve));
  return { hostPort, next, close: () => server.close() };
}

function signed(headers: IncomingHttpHeaders): Record<string, string> {
  const names = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-service-signature'];
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]));
}

let dir: string;
let project: Project;
let site: Site;
let plain: Delivery;
/** while one secret replaces another */
let overlapping: Delivery;
const secrets = { old: '', fresh: '' };

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-receivers-'));
  const capture = await startCapture();
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '0', REELMEND_ALLOW_HOSTS: capture.hostPort });
  const { accountId, key } = await createCustomer(site, { mode: 'test' });
  const { url } = await site.start('start');
  const webhook_url = `http://${capture.hostPort}/`;
  const deliver = async () => {
    const delivery = capture.next();
    await call(url, key, 'POST', '/v1/jobs', { video_url: 'https://example.com/a.mp4', resolution: '1080p', webhook_url });
    return delivery;
  };
  secrets.old = (await site.reelmend<{ secret: string }>('webhooks', 'secret', accountId)).secret;
  plain = await deliver();
  secrets.fresh = (await site.reelmend<{ secret: string }>('webhooks', 'rotate-secret', accountId)).secret;
  overlapping = await deliver();
  capture.close();
  project = await createProject();
});

afterAll(async () => {
  await site?.close();
  await project?.remove();
  await rm(dir, { recursive: true, force: true });
});

const { blocks } = readMarkdown('docs/webhooks.md');

function program(language: string, port: number): string {
  const [block, ...others] = blocks.filter((one) => one.language === language && one.markers['file'] !== undefined);
  if (block === undefined || others.length > 0) throw new Error(`docs/webhooks.md must have one ${language} receiver`);
  expect(block.text.match(/9000/g)).toHaveLength(1);
  return block.text.replace('9000', String(port));
}

/** file and arguments that run the document's program on this port */
const receivers: Record<string, (port: number) => Promise<[string, string[]]>> = {
  async ts(port) {
    await project.write(`receiver-${port}.ts`, program('ts', port));
    return [process.execPath, [join(project.dir, `receiver-${port}.ts`)]];
  },
  async python(port) {
    await writeFile(join(dir, `receiver-${port}.py`), program('python', port));
    return ['python3', [join(dir, `receiver-${port}.py`)]];
  },
  async go(port) {
    const built = join(dir, `go-${port}`);
    if (existsSync(built)) return [built, []];
    const source = `${built}.go`;
    await writeFile(source, program('go', port));
    await run('go', ['vet', source], { timeout: hangMs });
    await run('go', ['build', '-o', built, source], { timeout: hangMs });
    return [built, []];
  },
};

const goIsThere = spawnSync('go', ['version']).status === 0;
if (!goIsThere) console.warn('docs: Go is not installed; the Go receiver is NOT tested');

/** One for each language: the programs of a language run one after the other, and Go's is built once. */
const ports = new Map<string, number>();

async function startReceiver(language: string, secret: string): Promise<{ child: ChildProcess; port: number; printed: () => string }> {
  const port = ports.get(language) ?? (await freePorts(1));
  ports.set(language, port);
  const [file, args] = await receivers[language]!(port);
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], REELMEND_WEBHOOK_SECRET: secret };
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('ready')) resolve();
    });
    // Not 'exit': what it printed may still be in the pipe then.
    child.once('close', () => reject(new Error(text)));
  });
  return { child, port, printed: () => text };
}

async function post(port: number, { headers, body }: Delivery): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

const minutesAgo = (minutes: number) => String(Math.floor(Date.now() / 1000) - minutes * 60);
/** what a forger may do to a delivery */
const forgeries: Record<string, (delivery: Delivery) => Delivery> = {
  'another body': ({ headers, body }) => ({ headers, body: body.replace('completed', 'failed') }),
  'one more byte': ({ headers, body }) => ({ headers, body: `${body} ` }),
  'another id': ({ headers, body }) => ({ headers: { ...headers, 'webhook-id': 'evt_other' }, body }),
  'a newer time': ({ headers, body }) => ({ headers: { ...headers, 'webhook-timestamp': minutesAgo(0) + '0' }, body }),
  'an older time': ({ headers, body }) => ({ headers: { ...headers, 'webhook-timestamp': minutesAgo(6) }, body }),
  'no signature': ({ headers, body }) => ({ headers: { ...headers, 'webhook-signature': 'v1,' }, body }),
  'another signature': ({ headers, body }) => ({
    headers: { ...headers, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` },
    body,
  }),
};

/** well signed, and old */
function recorded(secret: string): Delivery {
  const at = new Date(Date.now() - 6 * 60_000);
  const headers = webhookHeaders({ id: 'evt_recorded', at, body: plain.body, secrets: [secret], serviceSecret: secret });
  return { headers, body: plain.body };
}

describe.each(Object.keys(receivers))('the receiver in %s', (language) => {
  describe.skipIf(language === 'go' && !goIsThere)('as the document prints it', () => {
    it.each(['old', 'fresh'] as const)('trusts what is signed under its secret: %s', async (which) => {
      const { child, port, printed } = await startReceiver(language, secrets[which]);
      try {
        const { job_id: job } = JSON.parse(overlapping.body) as { job_id: string };
        expect(await post(port, overlapping)).toBe(204);
        await expect.poll(printed).toContain(`job.completed ${job}`);
        expect(await post(port, plain)).toBe(which === 'old' ? 204 : 400);
        for (const [name, forge] of Object.entries(forgeries)) expect(await post(port, forge(overlapping)), name).toBe(400);
        expect(await post(port, recorded(secrets[which])), 'played again after six minutes').toBe(400);
        expect(await post(port, overlapping)).toBe(204);
      } finally {
        await end(child);
      }
    });

    // The sender does not get a 400, and an empty key verifies nothing.
    it.each(['', 'whsec_', 'whsec_A', 'svc_test_abc'])('says that its own secret is malformed: %j', async (secret) => {
      const started = await startReceiver(language, secret).catch((error: Error) => error.message);
      if (typeof started === 'string') return expect(started).toContain('REELMEND_WEBHOOK_SECRET');
      try {
        expect(await post(started.port, plain)).toBe(500);
        // What it prints arrives by a pipe of its own, maybe after the answer.
        await expect.poll(started.printed).toContain('invalid_secret');
      } finally {
        await end(started.child);
      }
    });
  });
});
