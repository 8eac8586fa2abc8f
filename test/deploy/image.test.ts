/** The container image as far as it can be had without Docker: its recipe, and the folder that it holds. */
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { hangMs } from '../helpers/wait.ts';
import { freePorts } from '../helpers/ports.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFile(join(root, name), 'utf8');

describe.each(['Dockerfile', 'Dockerfile.gpu'])('%s', (name) => {
  it('passes hadolint', async () => {
    const { stdout: program } = await run('bash', ['scripts/setup-hadolint'], { cwd: root, timeout: hangMs });
    const { stdout } = await run(program.trim(), ['--config', '.hadolint.yaml', name], { cwd: root });
    expect(stdout).toBe('');
  });

  it('sets only variables that the service knows, to values that it takes', async () => {
    const [, settings] = /^ENV ((?:.*\\\n)*.*HOST=.*)$/m.exec(await read(name))!;
    const env = Object.fromEntries(settings!.replaceAll('\\\n', ' ').trim().split(/\s+/).map((entry) => entry.split('=')));
    const own = name === 'Dockerfile' ? { device: 'cpu' } : { enginesDir: '/engines' };
    expect(loadConfig(env)).toMatchObject({ host: '0.0.0.0', metricsPort: 9464, demo: false, ...own });
    // What dies is started again, by `npm start` as well.
    expect(loadConfig(env).restart).toBe(true);
    expect(await read('scripts/start')).toContain('export REELMEND_RESTART="${REELMEND_RESTART:-1}"');
  });

  it('builds by scripts that are here, and has the programs that they ask for', async () => {
    const recipe = await read(name);
    const scripts = [...new Set([...recipe.matchAll(/\bscripts\/[\w-]+/g)].map(([script]) => script))];
    expect(scripts).toEqual(expect.arrayContaining(['scripts/bootstrap', 'scripts/package']));
    const gpuScripts = ['scripts/setup-gpu', 'scripts/setup-tensorrt'];
    expect(gpuScripts.every((script) => scripts.includes(script))).toBe(name === 'Dockerfile.gpu');
    const [, packages] = /install -y --no-install-recommends (.*) \\\n/.exec(recipe)!;
    const installed = [...packages!.split(' '), ...(/^COPY --from=node \/usr\/local\/lib\/node_modules\/npm /m.test(recipe) ? ['npm'] : [])];
    const providers: Record<string, string> = { cargo: 'cargo', mvn: 'maven', npm: 'npm' };
    for (const script of ['scripts/bootstrap', ...gpuScripts.filter((gpuScript) => scripts.includes(gpuScript))]) {
      const text = (await read(script)).replace(/^wanted_packages[\s\S]*?^}$/m, '');
      for (const [program, provider] of Object.entries(providers)) {
        if (text.includes(`command -v ${program}`)) expect(installed, `${script} asks for ${program}`).toContain(provider);
      }
      if (text.includes('-m pip')) expect(installed).toContain('python3-pip');
    }
    // What is copied into the build holds what they read.
    const kept = (await read('.dockerignore')).split('\n');
    for (const folder of ['scripts', 'native', 'engine', 'src', 'patches', 'docs', 'CHANGELOG.md', 'SECURITY.md']) expect(kept).toContain(`!${folder}`);
  });
});

describe('Dockerfile.gpu', () => {
  it('takes the version of Node that package.json installs, which is newer than its base has', async () => {
    const { dependencies, engines } = JSON.parse(await read('package.json')) as Record<'dependencies' | 'engines', Record<string, string>>;
    const [, version] = /^ARG NODE_VERSION=(.*)$/m.exec(await read('Dockerfile.gpu'))!;
    expect(version).toBe(dependencies['node']);
    expect(Number.parseInt(version!, 10)).toBeGreaterThanOrEqual(Number.parseInt(engines['node']!.slice(2), 10));
  });

  it('installs TensorRT with the same script as everyone, both kinds by default', async () => {
    const recipe = await read('Dockerfile.gpu');
    expect(recipe).toContain('ARG TENSORRT=--full\n');
    expect(recipe).toMatch(/scripts\/setup-tensorrt \$\{TENSORRT:\+"\$TENSORRT"\}/);
    const script = await read('scripts/setup-tensorrt');
    expect(script).toContain("'' | --full) ;;");
    // Before the addon is built, which lays the libraries beside its modules.
    expect(recipe).toMatch(/^RUN .*scripts\/setup-tensorrt (.*\\\n)*.*scripts\/bootstrap && scripts\/package /m);
  });
});

describe('the packaged folder', () => {
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-package-'));
    // As an administrator who keeps files from others.
    await run('bash', ['-c', 'umask 077; exec scripts/package "$1"', 'package', dir], { cwd: root, timeout: hangMs });
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  it('holds what runs and nothing that only builds or tests', async () => {
    expect((await readdir(dir)).sort()).toEqual(
      ['LICENSE', 'build', 'engine', 'migrations', 'node_modules', 'openapi.yaml', 'package-lock.json', 'package.json', 'patches', 'scripts', 'src'].sort(),
    );
    const packages = await readdir(join(dir, 'node_modules'));
    for (const tool of ['vitest', 'oxlint', 'vite', 'react', 'cmake-js']) expect(packages).not.toContain(tool);
  });

  it('can be read by every user, and be changed by its owner only', async () => {
    const { stdout } = await run('find', [dir, '-mindepth', '1', '!', '-type', 'l', '(', '!', '-perm', '-444', '-o', '-perm', '/022', '-o', '-type', 'd', '!', '-perm', '-111', ')', '-print', '-quit']);
    expect(stdout).toBe('');
    expect((await stat(join(dir, 'scripts/reelmend'))).mode & 0o777).toBe(0o755);
  });

  it('holds the mended PostgreSQL driver', async () => {
    for (const file of ['index.js', 'connection.js']) {
      const path = join('node_modules/postgres/src', file);
      expect(await readFile(join(dir, path), 'utf8')).toBe(await readFile(join(root, path), 'utf8'));
    }
    expect(await readFile(join(dir, 'node_modules/postgres/src/index.js'), 'utf8')).toContain('return q.reject(lost)');
  });

  it('builds engines for GPUs that are not here, where TensorRT-RTX was fetched', async () => {
    const beside = join(dir, 'build/native/Release/tensorrt');
    const files: string[] = await readdir(beside).catch(() => []);
    if (!files.includes('libtensorrt_rtx.so.1')) return console.warn('TensorRT-RTX is not in this build: not tested (scripts/setup-tensorrt)');
    expect(files).toEqual(expect.arrayContaining(['reelmend_tensorrt.so', 'reelmend_tensorrt_rtx.so', 'libtensorrt_onnxparser_rtx.so.1']));
    const out = await mkdtemp(join(tmpdir(), 'reelmend-engines-'));
    try {
      const env = { PATH: '/usr/bin:/bin', HOME: out };
      const compile = ['models', 'compile', 'fast', '--out', join(out, 'engines'), '--size', '128x64', '--json'];
      const { stdout } = await run(join(dir, 'scripts/reelmend'), compile, { env, timeout: hangMs });
      const engines = stdout.trim().split('\n').map((line) => JSON.parse(line) as { backend: string; target: string });
      expect(engines.some(({ target }) => target === '8.9')).toBe(true);
      for (const { backend } of engines) expect(backend).toMatch(/^tensorrt/);
      expect((await readdir(join(out, 'engines'))).filter((name) => name.endsWith('.engine')).length).toBeGreaterThanOrEqual(6);
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });

  /** The user and the rights that the pods of deploy/helm have; the tests need root to give them up. */
  const asPod = 'setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --';

  describe.skipIf(process.getuid?.() !== 0)('in a pod of the Helm chart, as far as it can be had without Kubernetes', () => {
    const probe = async (before: string, requireIsolation: '0' | '1') => {
      await chmod(dir, 0o755);
      const script = `${before} exec ${asPod} ${join(dir, 'scripts/reelmend')} probe ${join(dir, 'src/app/samples/sample.mp4')}`;
      const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/nonexistent', REELMEND_REQUIRE_ISOLATION: requireIsolation };
      return run('unshare', ['--mount', '--pid', '--fork', '--mount-proc', 'sh', '-euc', script], { env, cwd: '/', timeout: hangMs });
    };

    it('bubblewrap isolates the media child of a user without rights, where /proc is not masked', async () => {
      const { stdout } = await probe('', '1');
      expect(JSON.parse(stdout)).toMatchObject({ videoCodec: 'h264' });
    });

    it('bubblewrap cannot, where parts of /proc are masked: the process says so, or goes on without', async () => {
      // A second /proc without masks, as debootstrap mounts one, would be enough for the kernel.
      const others = 'findmnt -rno TARGET -t proc | grep -vx /proc | xargs -r umount -l;';
      const mask = `${others} mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys;`;
      await expect(probe(mask, '1')).rejects.toThrow(/bubblewrap/);
      expect(JSON.parse((await probe(mask, '0')).stdout)).toMatchObject({ videoCodec: 'h264' });
    });
  });

  it('serves, works and says that it is healthy', async () => {
    const database = await createTestDatabase();
    const data = await mkdtemp(join(tmpdir(), 'reelmend-packaged-'));
    const port = await freePorts();
    const env = {
      ...{ PATH: '/usr/bin:/bin', HOME: data, REELMEND_DATA_DIR: data, DATABASE_URL: database.url },
      ...{ PORT: String(port), REELMEND_DEMO: '0', REELMEND_MIN_SPEED: 'none' },
    };
    const reelmend = join(dir, 'scripts/reelmend');
    await expect(run(reelmend, ['health'], { env })).rejects.toThrow('No healthy process answers');
    const service = spawn(reelmend, ['start'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = new Promise((resolve) => service.once('exit', resolve));
    try {
      const healthy = () => run(reelmend, ['health'], { env }).then(() => true, () => false);
      await expect.poll(healthy, { interval: 500 }).toBe(true);
      const page = await fetch(`http://127.0.0.1:${port}/console/`);
      expect(page.headers.get('content-type')).toContain('text/html');
      const { stdout } = await run(reelmend, ['models', 'list'], { env });
      expect(stdout).toContain('fast');
    } finally {
      service.kill('SIGTERM');
      await ended;
      await database.drop();
      await rm(data, { recursive: true, force: true });
    }
  });
});
