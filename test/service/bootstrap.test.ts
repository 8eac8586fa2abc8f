/** scripts/bootstrap in unusual environments, in a project whose packages are two folders. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const bootstrap = fileURLToPath(new URL('../../scripts/bootstrap', import.meta.url));

let dir: string;
/** The only folder of the PATH where a script is to find nothing but `dirname`. */
let programs: string;
const write = async (name: string, content: string) => {
  await mkdir(dirname(join(dir, name)), { recursive: true });
  await writeFile(join(dir, name), content);
};
/** Other programs than bootstrap itself do nothing here. */
const otherScripts = ['setup-openvino', 'setup-faces', 'patch-packages', 'build-native', 'build-media-child', 'build-service', 'build-console', 'build-docs'];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-bootstrap-'));
  for (const name of otherScripts) {
    await write(`scripts/${name}`, '#!/bin/sh\n');
    await chmod(join(dir, 'scripts', name), 0o755);
  }
  programs = join(dir, 'programs');
  await mkdir(programs);
  await symlink('/usr/bin/dirname', join(programs, 'dirname'));
  await cp(bootstrap, join(dir, 'scripts', 'bootstrap'));
  await write('patches/README.md', '');
  // As the package of Node, whose program comes with its install script.
  await write('node/package.json', JSON.stringify({ name: 'node', version: '1.0.0', bin: 'run.js', scripts: { preinstall: "echo '#!/bin/sh' > run.js" } }));
  await write('tool/package.json', JSON.stringify({ name: 'tool', version: '1.0.0' }));
  await write('package.json', JSON.stringify({ name: 'project', dependencies: { node: 'file:node' }, devDependencies: { tool: 'file:tool' } }));
  await run('npm', ['install', '--package-lock-only', '--offline', '--no-audit'], { cwd: dir, env: environment() });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const environment = () => ({ PATH: process.env['PATH']!, HOME: dir, REELMEND_SKIP_PACKAGES: '1' });

it('installs the tools that build the service although NODE_ENV is production', async () => {
  await run('scripts/bootstrap', { cwd: dir, env: { ...environment(), NODE_ENV: 'production' } });
  expect((await stat(join(dir, 'node_modules', 'tool'))).isDirectory()).toBe(true);
});

it('npm start goes to no folder of CDPATH that has a folder of the same name', async () => {
  await cp(join(dirname(bootstrap), 'start'), join(dir, 'scripts', 'start'));
  await write('elsewhere/scripts/other', '');
  await write('scripts/reelmend', '#!/bin/sh\necho started\n');
  await chmod(join(dir, 'scripts', 'reelmend'), 0o755);
  const { stdout } = await run('bash', ['scripts/start'], { cwd: dir, env: { ...environment(), CDPATH: join(dir, 'elsewhere') } });
  expect(stdout.split('\n').at(-2)).toBe('started');
});

it('lets no CDPATH change what its scripts print and where they go', async () => {
  await write('scripts/build-docs', '#!/bin/sh\necho "${CDPATH-none}" > seen\n');
  await run('bash', ['scripts/bootstrap'], { cwd: dir, env: { ...environment(), CDPATH: '.' } });
  expect(await readFile(join(dir, 'seen'), 'utf8')).toBe('none\n');
  await cp(join(dirname(bootstrap), 'build-native'), join(dir, 'scripts', 'build-native'));
  const built = run('/bin/bash', ['scripts/build-native'], { cwd: dir, env: { PATH: programs, REELMEND_BUILD_JOBS: '1', CDPATH: '.' } });
  await expect(built).rejects.toMatchObject({ stderr: expect.stringMatching(/^build-native: cmake is missing; [^\n]*\n$/) });
});

it.each([':', '"', '$', '#', ';', '*', '\\', ',', '[', ']'])('refuses a folder in whose path programs would take a %s for syntax', async (character) => {
  const folder = join(dir, `a${character}b`);
  await mkdir(join(folder, 'scripts'), { recursive: true });
  await cp(bootstrap, join(folder, 'scripts/bootstrap'));
  const sentence = `its path has one of the characters : " $ # ; * \\ , [ ]; move it to another one: ${folder}\n`;
  await expect(run('scripts/bootstrap', { cwd: folder, env: environment() })).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
});

it('the tests start in a folder without .git only after git knows its files', async () => {
  await write('release/scripts/test', await readFile(join(dirname(bootstrap), 'test'), 'utf8'));
  await write('release/scripts/bootstrap', '#!/bin/sh\n');
  await chmod(join(dir, 'release/scripts/bootstrap'), 0o755);
  await write('release/scripts/test.ts', '');
  await write('release/package.json', '{}');
  const script = join(dir, 'release/scripts/test');
  const outside = { ...environment(), PATH: process.env['PATH'] };
  const sentence = /^test: this folder is no git repository, [^\n]*; clone the repository, or run: (git .*)\n$/;
  const refusal = await run('bash', [script], { env: outside }).catch((error: { code: number; stderr: string }) => error);
  expect(refusal).toMatchObject({ code: 2, stderr: expect.stringMatching(sentence) });
  await run('bash', ['-c', sentence.exec(refusal.stderr)![1]!], { cwd: join(dir, 'release'), env: outside });
  expect(await run('bash', [script], { env: outside })).toMatchObject({ stderr: '' });
});

it('no other script depends on CDPATH', async () => {
  const root = join(dirname(bootstrap), '..');
  const { stdout } = await run('git', ['ls-files', '-z', '.ci', 'scripts', 'engine/convert', 'engine/training'], { cwd: root });
  const texts = await Promise.all(stdout.split('\0').filter(Boolean).map(async (file) => ({ file, text: await readFile(join(root, file), 'utf8') })));
  const scripts = texts.filter(({ text }) => /^#!.*bash\n/.test(text) && /^[^#\n]*\bcd /m.test(text));
  expect(scripts.length).toBeGreaterThan(40);
  // Before the first `cd`.
  expect(scripts.filter(({ text }) => !/^(?:(?!^[^#\n]*\bcd )[^\n]*\n)*unset CDPATH\b/.test(text)).map(({ file }) => file)).toEqual([]);
});

it('builds nothing again in a checkout that is reached through a link', async () => {
  const write = async (name: string, content: string) => {
    await mkdir(dirname(join(dir, 'checkout', name)), { recursive: true });
    await writeFile(join(dir, 'checkout', name), content, { mode: 0o755 });
  };
  await write('scripts/build-native', await readFile(join(dirname(bootstrap), 'build-native'), 'utf8'));
  for (const name of ['setup-openvino', 'setup-faces', 'setup-gpu']) await write(`scripts/${name}`, '#!/bin/sh\n');
  for (const name of ['cmake', 'c++', 'pkg-config']) await write(`node_modules/.bin/${name}`, '#!/bin/sh\n');
  // Like CMake, it stores the real paths.
  const cache = ['CMAKE_HOME_DIRECTORY:INTERNAL=%s/native', 'CMAKE_JS_INC=%s/node_modules/node-addon-api'].join('\\n');
  await write('node_modules/.bin/cmake-js', `#!/bin/sh
    cd build/native && mkdir -p Release && here=$(cd ../.. && pwd -P) && printf '${cache}\\n' "$here" "$here" >CMakeCache.txt
    [ -f Release/reelmend.node ] || echo >Release/reelmend.node\n`);
  await symlink('checkout', join(dir, 'link'));
  const build = async (folder: string) => (await run(join(dir, folder, 'scripts/build-native'), { cwd: join(dir, folder) })).stdout;
  expect(await build('checkout')).toContain('built in');
  expect(await build('link')).toBe('build-native: build/native/Release/reelmend.node is up to date\n');
  expect(await build('checkout')).toBe('build-native: build/native/Release/reelmend.node is up to date\n');
});

it('leaves a cargo of rustup without a toolchain aside', async () => {
  const cargo = async (folder: string, body: string) => {
    await write(`${folder}/cargo`, `#!/bin/sh\n${body}\n`);
    await chmod(join(dir, folder, 'cargo'), 0o755);
    return join(dir, folder);
  };
  const rustup = await cargo('rustup', 'exit 1');
  const usable = await cargo('usable', 'echo cargo 1.95.0');
  const find = (...path: string[]) => run('/bin/bash', [join(dirname(bootstrap), 'setup-tensorrt'), '--cargo'], { env: { PATH: [...path, programs].join(':') } });
  expect((await find(rustup, usable)).stdout).toBe(join(usable, 'cargo') + '\n');
  await expect(find(rustup)).rejects.toMatchObject({ stderr: 'setup-tensorrt: there is no cargo that runs\n' });
});

it('says why there is no Node where npm runs no install scripts', async () => {
  await rm(join(dir, 'node_modules'), { recursive: true });
  await rm(join(dir, 'node', 'run.js'));
  const started = run('scripts/bootstrap', { cwd: dir, env: { ...environment(), npm_config_ignore_scripts: 'true' } });
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: 'reelmend: npm installed no Node 24, because ignore-scripts is set in its configuration; run: npm_config_ignore_scripts=false npm start\n',
  });
});

it('the converter of networks finds its packages after the checkout was moved, and after an upgrade of Python', async () => {
  const project = dirname(dirname(bootstrap));
  await cp(join(project, 'engine/convert/run'), join(dir, 'first/engine/convert/run'));
  await write('first/engine/convert/requirements.txt', '# nothing\n');
  await write('first/engine/convert/convert/__main__.py', 'import pip, sys\nprint("converted by", sys.prefix)\n');
  const convert = async (folder: string) => (await run(join(dir, folder, 'engine/convert/run'), ['add'], { cwd: dir, env: environment() })).stdout;
  const venv = (folder: string) => join(dir, folder, '.cache/convert/base');
  await mkdir(join(dir, 'first/.cache'));
  expect(await convert('first')).toMatch(/^converted by/);
  await rename(join(dir, 'first'), join(dir, 'second'));
  await write('second/engine/convert/requirements.txt', '# something else\n');
  expect(await convert('second')).toMatch(/^converted by/);
  // The packages are in a folder of Python's version.
  const [version] = await readdir(join(venv('second'), 'lib'));
  await rename(join(venv('second'), 'lib', version!), join(venv('second'), 'lib/python3.1'));
  expect(await convert('second')).toMatch(/^converted by/);
});

it('a package whose files could not all be moved is unpacked again, and two runs at once share one', async () => {
  await cp(join(dirname(bootstrap), 'unpack-packages'), join(dir, 'scripts/unpack-packages'));
  const program = async (name: string, code: string) => {
    await write(`fakes/${name}`, `#!/bin/sh\n${code}\n`);
    await chmod(join(dir, 'fakes', name), 0o755);
  };
  await program('apt-get', 'echo >>"$REQUESTS" && sleep 0.5 && touch example.deb');
  await program('dpkg-deb', 'mkdir -p "$3/usr/bin" && touch "$3/usr/bin/example"');
  // As on a full disk, where mv has to copy: it begins with any file.
  await program('mv', 'from=$(eval echo \\${$(($# - 1))}) to=$(eval echo \\$$#); [ "$(stat -c %d "$from")" = "$(stat -c %d .cache)" ] && exec /bin/mv "$@"; mkdir "$to"; cp "$from/.unpacked" "$to"; exit 1');
  const temporary = await mkdtemp('/dev/shm/reelmend-unpack-');
  const requests = join(dir, 'requests');
  const env = { ...environment(), PATH: `${join(dir, 'fakes')}:${process.env['PATH']}`, TMPDIR: temporary, REQUESTS: requests };
  const unpack = (name: string) => run(join(dir, 'scripts/unpack-packages'), [name, 'example'], { cwd: dir, env });
  try {
    await unpack('full').catch(() => undefined);
    const { stdout } = await unpack('full');
    expect((await stat(join(stdout.trim(), 'usr/bin/example'))).isFile()).toBe(true);
    await rm(requests);
    await Promise.all([unpack('both'), unpack('both')]);
    expect(await readFile(requests, 'utf8')).toBe('\n');
    expect((await readdir(join(dir, '.cache/both'))).sort()).toEqual(['.unpacked', 'usr']);
  } finally {
    await rm(temporary, { recursive: true });
  }
});

it('hadolint is not taken for installed if a full disk has cut it off', async () => {
  await cp(join(dirname(bootstrap), 'setup-hadolint'), join(dir, 'scripts/setup-hadolint'));
  const programs = join(dir, 'full-disk');
  const program = async (name: string, code: string) => {
    await write(`full-disk/${name}`, `#!/bin/sh\n${code}\n`);
    await chmod(join(programs, name), 0o755);
  };
  // `python3 -m venv FOLDER`, whose pip installs nothing
  await program('python3', 'mkdir -p "$3/bin" && cp /bin/true "$3/bin/pip" && cp /bin/true "$3/bin/hadolint"');
  await program('cp', '/bin/cp "$@"; case $* in *.cache*) echo exit 9 >"$2"; exit 1 ;; esac');
  const setUp = (path: string) => run(join(dir, 'scripts/setup-hadolint'), { cwd: dir, env: { ...environment(), PATH: path } });
  await expect(setUp(`${programs}:${process.env['PATH']}`)).rejects.toThrow();
  await rm(join(programs, 'cp'));
  const { stdout } = await setUp(`${programs}:${process.env['PATH']}`);
  await run(stdout.trim());
});

it("TensorRT's headers are not taken for installed if a full disk has cut them off", async () => {
  const script = await readFile(join(dirname(bootstrap), 'setup-tensorrt'), 'utf8');
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(script)![1]!;
  const crates = ['rtx', 'full'].map((kind) => [value(`${kind}_headers_version`), value(`${kind}_headers_sum`)] as const);
  await write('scripts/setup-tensorrt', script);
  await chmod(join(dir, 'scripts/setup-tensorrt'), 0o755);
  const program = async (name: string, code: string) => {
    await write(`no-crates/${name}`, `#!/bin/sh\n${code}\n`);
    await chmod(join(dir, 'no-crates', name), 0o755);
  };
  const files = crates.map(([version]) => `"$cache/trtx-sys-${version}.crate"`).join(' ');
  await program('cargo', `[ "$1" != --version ] || exit 0; cache=$CARGO_HOME/registry/cache/index; mkdir -p "$cache" && touch ${files}`);
  await program('sha256sum', `case $1 in ${crates.map(([version, sum]) => `*-${version}.crate) echo ${sum} ;;`).join(' ')} esac`);
  // Of both crates, it unpacks what is moved later, and then the disk is full.
  const headers = crates.map(([version]) => `"$4/trtx-sys-${version}/TensorRT-Headers"`);
  await program('tar', `mkdir -p ${headers[0]}/TRT-RTX-1.7 ${headers[1]}/TRT-Enterprise-10.16; touch ${headers[0]}/cuda_runtime_api.h; exit 2`);
  const setUp = run(join(dir, 'scripts/setup-tensorrt'), { cwd: dir, env: { ...environment(), PATH: `${join(dir, 'no-crates')}:${process.env['PATH']}` } });
  await expect(setUp).rejects.toMatchObject({ stderr: expect.stringMatching(/^setup-tensorrt: could not unpack the headers$/m) });
  await expect(stat(join(dir, '.cache/tensorrt/include'))).rejects.toThrow('ENOENT');
});

it('OpenVINO is installed although the settings of pip ask for other places', async () => {
  const project = join(dir, 'pip');
  const wheel = [
    'import sys, zipfile',
    'wheel = zipfile.ZipFile(sys.argv[1], "w")',
    'wheel.writestr("openvino/cmake/OpenVINOConfig.cmake", "")',
    'info = "openvino-1.dist-info/"',
    'wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: openvino\\nVersion: 1\\n")',
    'wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")',
    'wheel.writestr(info + "RECORD", "")',
  ];
  const file = join(dir, 'openvino-1-py3-none-any.whl');
  await run('python3', ['-c', wheel.join('\n'), file]);
  await write('pip/scripts/openvino.txt', `# Its wheel\n${file}\n`);
  await cp(join(dirname(bootstrap), 'setup-openvino'), join(project, 'scripts/setup-openvino'));
  const env = { ...environment(), PIP_NO_INDEX: '1' };
  for (const setting of [{}, { PIP_USER: '1' }, { PIP_REQUIRE_VIRTUALENV: 'true' }]) {
    await rm(join(project, '.cache/openvino/.installed'), { force: true });
    const { stdout } = await run(join(project, 'scripts/setup-openvino'), { env: { ...env, ...setting } });
    expect(await readdir(stdout.trim()), JSON.stringify(setting)).toEqual(['OpenVINOConfig.cmake']);
  }
});

it('no script that installs with pip depends on such settings', async () => {
  const { stdout } = await run('git', ['grep', '-lE', 'pip.* (install|download) (-|--)', '--', 'scripts', 'engine', ':!*.ts', ':!*.py', ':!*.md'], { cwd: join(dirname(bootstrap), '..') });
  const scripts = stdout.trim().split('\n');
  expect(scripts.length).toBeGreaterThan(9);
  // `pip download` in an environment of its own heeds neither of them.
  for (const script of scripts.filter((name) => name !== 'scripts/setup-ffmpeg')) {
    expect(await readFile(join(dirname(bootstrap), '..', script), 'utf8'), script).toContain('export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0');
  }
});
