/** The package as its users get it: built, packed, installed into an empty project, and used against the service. */
import { readdir, readFile, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { serve } from '@hono/node-server';
import { build } from 'esbuild';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createHmac } from 'node:crypto';
import { createReelmend } from '../../src/sdk/index.ts';
import { launchBrowser } from '../browser/world.ts';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { hangMs } from '../helpers/wait.ts';
import type { Outcome } from './consumer.ts';
import { guides, readMarkdown } from '../docs/markdown.ts';
import { createProject, lintPackage, nodes, type Project, readmeExamples } from './project.ts';
import { expectedOf, sampleKey, samplesIn, startRecorder, withoutSample } from './recorder.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** bytes, minified: the whole package */
const bundleLimit = 40_000;

let project: Project;
let site: Site;
let api: Running;
let key: string;
let examples: string[];

beforeAll(async () => {
  project = await createProject();
  const consumer = await readFile(join(import.meta.dirname, 'consumer.ts'), 'utf8');
  await project.write('consumer.ts', consumer.replaceAll('../../src/sdk/index.ts', '@reelmend/sdk'));
  examples = await readmeExamples(project.installed);
  for (const [i, code] of examples.entries()) await project.write(`readme/${i}.ts`, code);
  await project.write('holiday.mov', 'test mode reads no video');
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '300' });
  ({ key } = await createCustomer(site, { mode: 'test' }));
  api = await site.start('start');
});

afterAll(async () => {
  await site?.close();
  await project?.remove();
});

const environment = () => ({
  REELMEND_URL: api.url,
  REELMEND_API_KEY: key,
  REELMEND_WEBHOOK_SECRET: secret,
});

function checkOutcome(outcome: Outcome): void {
  expect(outcome.job).toMatchObject({ status: 'done', sandbox: true, credits_charged: 0, resolution: '1080p' });
  expect(outcome.progress.at(-1)).toBe(1);
  expect(outcome.resultUrl).toMatch(/^https?:\/\//);
  expect(outcome.failure).toEqual({ code: 'processing_failed', status: 'error' });
  expect(outcome.afterDeletion).toBe('job_not_found');
  expect(outcome.webhooks).toEqual(['job.completed', 'signature_mismatch']);
}

describe('the package', () => {
  it('has what it needs and nothing else', async () => {
    const manifest = JSON.parse(await readFile(join(project.installed, 'package.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    expect(manifest['dependencies'] ?? manifest['peerDependencies'] ?? manifest['scripts']).toBeUndefined();
    const main = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    for (const field of ['version', 'license', 'type']) expect(manifest[field], field).toBe(main[field]);
    expect((await readdir(project.installed)).sort()).toEqual(['README.md', 'dist', 'package.json']);
    expect(await readdir(join(project.dir, 'node_modules'))).toEqual(expect.arrayContaining(['@reelmend']));
    expect(await readdir(join(project.dir, 'node_modules', '@reelmend'))).toEqual(['sdk']);
  });

  it('imports only its own files, by names that exist', async () => {
    const dist = join(project.installed, 'dist');
    const files = (await readdir(dist, { recursive: true })).filter((path) => /\.(js|d\.ts)$/.test(path));
    for (const folder of ['esm/', 'cjs/']) expect(files.filter((path) => path.startsWith(folder)).length).toBeGreaterThan(30);
    for (const path of files) {
      const text = await readFile(join(dist, path), 'utf8');
      const imports = [...text.matchAll(/(?:from |import\(|require\()['"]([^'"\n]+)['"]/g)].map(([, name]) => name!);
      for (const name of imports) {
        const target = join(path, '..', name);
        expect(files, `${path} imports ${name}`).toContain(
          path.endsWith('.d.ts') ? target.replace(/\.js$/, '.d.ts') : target,
        );
      }
    }
  });

  it.each([
    ['attw: each way to resolve it finds code and types of one kind', 'attw', ['--no-emoji', '--no-definitely-typed']],
    ['publint: the manifest names what is there', 'publint', ['--strict']],
  ])('passes %s', async (_name, program, args) => {
    await lintPackage(program, [project.tarball, ...args]);
  });

  const resolvers = [
    ['nodenext with Node’s types', { module: 'nodenext', lib: ['ES2022'], types: ['node'] }],
    ['nodenext with the DOM', { module: 'nodenext', lib: ['ES2022', 'DOM'], types: [] }],
    ['bundler with the DOM', { module: 'esnext', moduleResolution: 'bundler', lib: ['ES2022', 'DOM'], types: [] }],
  ] as const;

  it.each(resolvers)('type-checks strictly: %s', async (_name, options) => {
    await project.compile({ ...options, noEmit: true }, ['consumer.ts']);
  });
});

describe('on Node', () => {
  beforeAll(async () => {
    await project.compile({ module: 'nodenext', types: ['node'], outDir: 'out', rootDir: '.' }, [
      'consumer.ts',
      'readme',
    ]);
    await project.write(
      'main.mjs',
      `import { use } from './out/consumer.js';
      console.log(JSON.stringify(await use(process.env.REELMEND_URL, process.env.REELMEND_API_KEY)));`,
    );
  });

  it('works against the service, also on the oldest supported line', async () => {
    const found = await nodes();
    console.log(`Node versions: ${found.map(({ version }) => version).join(', ')}`);
    for (const { path } of found) {
      checkOutcome(JSON.parse(await project.run(path, 'main.mjs', environment())) as Outcome);
    }
  });

  it('works from CommonJS, and writes a result into a file', async () => {
    await project.write(
      'main.cjs',
      `const { createReelmend, ReelmendError, NotFoundError } = require('@reelmend/sdk');
      const reelmend = createReelmend();
      (async () => {
        const { id } = await reelmend.jobs.create({ video_url: 'https://media.example.com/a.mp4', resolution: '1080p' });
        const { output } = await reelmend.waitForJob(id, { pollIntervalMs: 50 });
        const { sizeBytes } = await reelmend.jobs.download(id, 'common.mp4');
        const lost = await reelmend.jobs.get('job_x').catch((error) => error);
        console.log(sizeBytes === output.size_bytes, lost instanceof NotFoundError && lost instanceof ReelmendError);
      })();`,
    );
    for (const { path } of await nodes()) expect(await project.run(path, 'main.cjs', environment())).toBe('true true\n');
    expect((await stat(join(project.dir, 'common.mp4'))).size).toBeGreaterThan(1000);
  });

  it('runs every example of the README', async () => {
    const expected = [
      /^enhance \d+ %\n(.*\n)*download 100 %\n\d+\n$/,
      /(queued|running) \d+ %\n(.*\n)*done 100 %\nhttp.*\n$/,
      /^0 %\n(\d+ %\n)*100 %\nready holiday\.mov\n$/,
      /^$/,
      /^$/,
      /^([\d.]+ \w+ http\S+ http\S+\n)+queued\n(prv_\w+ \w+\n)+$/,
      /^top up: /,
      /^true\n$/,
      /^\d+ (true|false)\n\d+\n(job_\w+ (queued|running|done|error)\n)+(job_\w+ \S+Z\n)+$/,
      /^true 200 "read";r=\d+;t=\d+ req_\w+\n$/,
      /^$/,
      /^\d+ true\n\d+ \d+ \d+\nstatus 0(?:\.00\d?)?\n{ status: 'ok' }\n$/,
    ];
    expect(examples).toHaveLength(expected.length);
    for (const [i, pattern] of expected.entries()) {
      expect(await project.run(process.execPath, `out/readme/${i}.js`, environment()), examples[i]).toMatch(pattern);
    }
  });

  it('runs the receiver of the README', async () => {
    const body = '{"event":"job.completed","job_id":"job_1","status":"done"}';
    const now = new Date();
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('evt_1', now, body),
      'X-Service-Signature': createHmac('sha256', secret).update(body).digest('hex'),
    };
    const receiver = examples.findIndex((code) => code.includes('verifyWebhook'));
    await project.write(
      'receive.mjs',
      `import { POST } from './out/readme/${receiver}.js';
      const headers = ${JSON.stringify(headers)};
      const send = (body) => POST(new Request('http://hooks/', { method: 'POST', body, headers }));
      const body = ${JSON.stringify(body)};
      for (const sent of [body, body + ' ']) { const { status } = await send(sent); console.log(status); }`,
    );
    expect(await project.run(process.execPath, 'receive.mjs', environment())).toBe('done: job_1\n204\n400\n');
    const malformed = { ...environment(), REELMEND_WEBHOOK_SECRET: 'whsec_' };
    await expect(project.run(process.execPath, 'receive.mjs', malformed)).rejects.toThrow('The secret must be whsec_');
  });
});

/** Serves a page at `/`, and its calls by `handle`. The first call that completes an upload gets the answer of a server that restarts. */
async function startPage(html: string, handle: (request: Request) => Promise<Response>) {
  const refused: string[] = [];
  const fetch = (request: Request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/') return new Response(html, { headers: { 'Content-Type': 'text/html' } });
    if (!pathname.startsWith('/videos')) return new Response(null, { status: 404 });
    if (!pathname.endsWith('/complete') || refused.length > 0) return handle(request);
    refused.push('complete');
    return new Response('restarting', { status: 503 });
  };
  const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
    const started: ReturnType<typeof serve> = serve({ fetch, hostname: '127.0.0.1', port: 0 }, () => resolve(started));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, refused, close: () => server.close() };
}

/** The TypeScript of a guide, whose samples go on from one to the next; imports stand at the top of a file. */
function programOf(path: string): string {
  const samples = readMarkdown(path).blocks.filter(({ language, markers }) => language === 'ts' && markers['run'] !== undefined);
  const text = samples.map((block) => block.text).join('\n');
  const imports = /^import .*;$/gm;
  return `${(text.match(imports) ?? []).join('\n')}\n${text.replaceAll(imports, '')}\nexport {};\n`;
}

describe('the samples of the documents', () => {
  it('of the guides pass the compiler', async () => {
    const programs = guides.map((path) => [path, programOf(path)] as const).filter(([, text]) => text.includes('createReelmend'));
    expect(programs.length).toBeGreaterThan(2);
    for (const [path, text] of programs) await project.write(`guides/${path.replaceAll('/', '-')}.ts`, text);
    await project.compile({ module: 'nodenext', lib: ['ESNext'], types: ['node'], noEmit: true }, ['guides']);
  });

  it('of the API reference send what the contract asks for, with curl and with the SDK', async () => {
    const recorder = await startRecorder();
    const environment = { REELMEND_URL: recorder.url, REELMEND_API_KEY: sampleKey };
    const typescript = samplesIn('TypeScript');
    expect([...withoutSample('TypeScript'), ...withoutSample('curl')]).toEqual([]);
    for (const { operation, text } of typescript) await project.write(`samples/${operation.id}.ts`, text);
    await project.compile({ module: 'nodenext', types: ['node'], outDir: 'out/samples', rootDir: 'samples' }, ['samples']);
    const steps = typescript.map(({ operation: { id } }) => `await fetch(process.env.REELMEND_URL + '/mark/ts-${id}');\nawait import('./out/samples/${id}.js');`);
    await project.write('samples.mjs', steps.join('\n'));
    await project.run(process.execPath, 'samples.mjs', environment);
    const curl = samplesIn('curl');
    await project.write('samples.sh', `set -eu\n${curl.map(({ operation, text }) => `curl -s "$REELMEND_URL/mark/curl-${operation.id}"\n${text}`).join('')}`);
    await project.run('bash', 'samples.sh', environment);
    recorder.close();
    for (const [name, samples] of Object.entries({ ts: typescript, curl })) {
      expect(samples.length, name).toBeGreaterThan(25);
      for (const { operation } of samples) {
        const sent = recorder.recorded.get(`${name}-${operation.id}`);
        expect(sent, `${name} ${operation.id}`).toMatchObject([expectedOf(operation)]);
        if (['createJob', 'createPreview', 'createUpload'].includes(operation.id)) expect(sent![0]!.idempotencyKey).toMatch(/^[0-9a-f-]{32,36}$/);
      }
    }
  });
});

describe('in a browser', () => {
  const bundle = async (contents: string, globalName: string) => {
    const { outputFiles, warnings } = await build({
      stdin: { contents, resolveDir: project.dir, loader: 'ts' },
      bundle: true,
      minify: true,
      write: false,
      format: 'iife',
      globalName,
      platform: 'browser',
      target: 'es2022',
      logLevel: 'silent',
    });
    expect(warnings).toEqual([]);
    return outputFiles[0]!.text;
  };

  /** What a page, a worker and an edge runtime have; nothing of Node. */
  const globals = () => ({
    AbortController,
    AbortSignal,
    Headers,
    ReadableStream,
    Request,
    Response,
    TextDecoder,
    TextDecoderStream,
    TextEncoder,
    URL,
    atob,
    btoa,
    clearTimeout,
    crypto,
    fetch,
    setTimeout,
  });

  it('the bundle works with nothing but the globals of the web', async () => {
    const code = await bundle(`export { use } from './consumer.ts';`, 'consumer');
    const use = runInNewContext(`${code}; consumer.use`, globals()) as (url: string, key: string) => Promise<Outcome>;
    checkOutcome(JSON.parse(JSON.stringify(await use(api.url, key))) as Outcome);
  });

  it('the page of the README sends a file, through the server of the README, which alone has the key', async () => {
    const [server, page] = ['export async function handle', 'export async function enhance'].map((code) => examples.findIndex((text) => text.includes(code)));
    vi.stubEnv('REELMEND_URL', api.url);
    vi.stubEnv('REELMEND_API_KEY', key);
    const { handle } = (await import(pathToFileURL(join(project.dir, `out/readme/${server}.js`)).href)) as { handle(request: Request, visitor: string): Promise<Response> };
    const script = `${await bundle(`export { enhance } from './readme/${page}.ts';`, 'page')};
      document.querySelector('input').onchange = ({ target }) => page.enhance(target.files[0], (percent) => (document.title = percent + ' %'))
        .then(({ id }) => (document.querySelector('output').textContent = id), (error) => (document.querySelector('output').textContent = error));`;
    const site = await startPage(`<!doctype html><input type="file"><output></output><script>${script}</script>`, (request) => handle(request, 'ada'));
    const browser = await launchBrowser();
    try {
      const tab = await browser.newPage();
      const sent: { method: string; url: string; headers: Record<string, string> }[] = [];
      tab.on('request', (request) => sent.push({ method: request.method(), url: request.url(), headers: request.headers() }));
      await tab.goto(site.url);
      await tab.locator('input').setInputFiles({ name: 'walk.mov', mimeType: 'video/quicktime', buffer: Buffer.alloc(9_000_000) });
      await tab.locator('output', { hasText: /./ }).waitFor({ timeout: hangMs });
      const jobId = (await tab.locator('output').textContent())!;
      expect(jobId).toMatch(/^job_/);
      expect(await tab.title()).toBe('100 %');
      const reelmend = createReelmend({ baseUrl: api.url, apiKey: key });
      expect(await reelmend.jobs.get(jobId)).toMatchObject({ file_name: 'walk.mov', resolution: '1080p' });
      // Two parts, directly to the service; the key is in no request and not in the page.
      expect(sent.filter(({ method, url }) => method === 'PUT' && new URL(url).origin === api.url)).toHaveLength(2);
      expect(JSON.stringify(sent) + (await tab.content())).not.toContain(key);
      expect(site.refused).toEqual(['complete']);
      // A call to create the job that is repeated gets the same one; another visitor gets nothing.
      const path = sent.find(({ url }) => url.endsWith('/job'))!.url;
      const repeat = (visitor: string) => handle(new Request(path, { method: 'POST', body: '{}' }), visitor);
      expect(await (await repeat('ada')).json()).toMatchObject({ id: jobId });
      expect((await repeat('grace')).status).toBe(404);
    } finally {
      await browser.close();
      site.close();
      vi.unstubAllEnvs();
    }
  });

  it('the bundle is small, and verifyWebhook alone smaller', async () => {
    const all = (await bundle(`export * from '@reelmend/sdk';`, 'all')).length;
    const client = (await bundle(`export { createReelmend } from '@reelmend/sdk';`, 'one')).length;
    const webhook = (await bundle(`export { verifyWebhook } from '@reelmend/sdk';`, 'one')).length;
    console.log(`minified: everything ${all} bytes, createReelmend ${client}, verifyWebhook ${webhook}`);
    expect(all).toBeLessThan(bundleLimit);
    expect(webhook).toBeLessThan(4_000);
  });
});
