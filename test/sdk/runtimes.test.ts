/** The packed package in Bun, Deno and Cloudflare's workerd, against the service. Installs the runtimes. */
import { execFile } from 'node:child_process';
import { cp, glob, mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLongRun } from '../helpers/long-run.ts';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { hangMs } from '../helpers/wait.ts';
import type { Journey } from './journey.ts';
import { createProject, type Project } from './project.ts';

const exec = promisify(execFile);

/** The part of miniflare, which runs workerd, that is used here. */
interface Miniflare {
  dispatchFetch(url: string): Promise<Response>;
  dispose(): Promise<void>;
}

function check(text: string, { isWritten }: { isWritten: boolean }): void {
  const { outcome, ...seen } = JSON.parse(text) as Journey;
  expect(outcome).toMatchObject({ job: { status: 'done' }, failure: { code: 'processing_failed' }, afterDeletion: 'job_not_found' });
  expect(outcome.webhooks).toEqual(['job.completed', 'signature_mismatch']);
  const whole = isWritten ? [true, true] : [true];
  expect(seen).toEqual({ upload: ['ready', 'film.mov'], lastEvent: 'done', jobs: 2, whole, connections: whole.length });
}

describe.runIf(isLongRun)('the package', () => {
  let packages: string;
  let project: Project;
  let site: Site;
  let api: Running;
  beforeAll(async () => {
    const { stdout } = await exec(join(import.meta.dirname, '../../scripts/setup-runtimes'), { timeout: hangMs });
    packages = stdout.trim();
    project = await createProject();
    for (const name of ['consumer.ts', 'journey.ts']) {
      const text = await readFile(join(import.meta.dirname, name), 'utf8');
      await project.write(name, text.replaceAll('../../src/sdk/index.ts', '@reelmend/sdk'));
    }
    await project.write('main.ts', `import { journey } from './journey.ts';
      const [url, key] = process.argv.slice(2);
      console.log(JSON.stringify(await journey(url, key, 'out.mp4')));`);
    site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '300' });
    api = await site.start('start');
  });
  afterAll(async () => {
    await site?.close();
    await project?.remove();
  });

  const newKey = async () => (await createCustomer(site, { mode: 'test' })).key;

  async function program(pattern: string): Promise<string> {
    for await (const path of glob(pattern, { cwd: packages })) return join(packages, path);
    throw new Error(`There is no ${pattern}: is there a package for this platform?`);
  }

  async function run(path: string, args: string[], dir: string): Promise<string> {
    const env = { PATH: process.env['PATH']!, HOME: dir, DENO_DIR: join(dir, 'deno'), DENO_NO_UPDATE_CHECK: '1' };
    return (await exec(path, args, { cwd: dir, env, timeout: hangMs })).stdout;
  }

  it('works in Bun, installed by Bun', async () => {
    const bun = await program('@oven/bun-linux-*/bin/bun');
    const dir = join(project.dir, '../bun');
    await mkdir(dir);
    for (const name of ['consumer.ts', 'journey.ts', 'main.ts']) await cp(join(project.dir, name), join(dir, name));
    await run(bun, ['add', project.tarball], dir);
    check(await run(bun, ['main.ts', api.url, await newKey()], dir), { isWritten: true });
  });

  it('works in Deno with no permissions but the network and the folder, and has types there', async () => {
    const deno = await program('@deno/linux-*/deno');
    const permissions = ['--no-prompt', `--allow-net=${new URL(api.url).host}`, '--allow-read=.', '--allow-write=.'];
    check(await run(deno, ['run', ...permissions, 'main.ts', api.url, await newKey()], project.dir), { isWritten: true });
    await run(deno, ['check', 'consumer.ts', 'journey.ts'], project.dir);
  });

  it.each([['2024-01-01', []], ['2026-07-01', ['nodejs_compat']]])('works in a Cloudflare Worker of %s with the flags %j', async (compatibilityDate, compatibilityFlags) => {
    const contents = `import { journey } from './journey.ts';
      export default { fetch: async (_request, env) => Response.json(await journey(env.url, env.key)) };`;
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: project.dir, loader: 'ts' },
      ...{ bundle: true, write: false, format: 'esm', platform: 'browser', target: 'es2022' },
    });
    const { Miniflare } = createRequire(join(packages, 'x.js'))('miniflare') as { Miniflare: new (options: object) => Miniflare };
    const bindings = { url: api.url, key: await newKey() };
    const script = outputFiles[0]!.text;
    const worker = new Miniflare({ modules: true, script, bindings, compatibilityDate, compatibilityFlags, cf: false, host: '127.0.0.1' });
    try {
      check(await (await worker.dispatchFetch('http://worker/')).text(), { isWritten: false });
    } finally {
      await worker.dispose();
    }
  });
});
