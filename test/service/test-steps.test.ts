/** A step of `npm test` is skipped while its inputs are unchanged, so everything that decides its outcome must be one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Fingerprints } from '../../scripts/passed-before.ts';
import { filesToRepeat, readVitest } from '../../scripts/test-reports.ts';
import { installed, longSteps, shortSteps } from '../../scripts/test-steps.ts';

const root = join(import.meta.dirname, '../..');
const files = (...pathspecs: string[]) =>
  execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z', '--', ...pathspecs], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })
    .split('\0')
    .filter(Boolean);

/** The files that a program imports, directly and indirectly, itself included. */
function imported(entry: string, found = new Set<string>()): Set<string> {
  if (found.has(entry)) return found;
  found.add(entry);
  const text = readFileSync(join(root, entry), 'utf8');
  for (const [, name] of text.matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+\.(?:ts|js))'/g)) {
    imported(relative(root, join(root, entry, '..', name!)), found);
  }
  return found;
}

const packages = ['package-lock.json', 'patches/postgres+3.4.9.patch'];
const service = [...imported('src/cli/main.ts'), ...files('migrations/*.sql', 'src/console/', 'engine/src/', 'engine/models/', 'native/')];
const needed: Record<string, string[]> = {
  'types, lint, directions': [
    ...files('scripts/lint', 'scripts/lint-engine', '*.ts', '*.tsx', '*tsconfig*.json', 'engine/src/', 'engine/include/', 'native/src/'),
    ...['.oxlintrc.json', '.dependency-cruiser.cjs', ...packages],
  ],
  'openapi.yaml, by Redocly and Spectral': ['openapi.yaml', 'package-lock.json', ...files('scripts/lint-contract', 'scripts/setup-lint-tools', 'scripts/lint-tools/')],
  'generated code is current': [
    ...['scripts/generate', 'openapi.yaml', ...packages],
    ...[...imported('scripts/generate.ts'), ...imported('openapi-ts.config.ts')],
    ...files('src/contract/*.gen.ts', 'src/sdk/*.gen.ts'),
  ],
  engine: files('scripts/test-engine', 'scripts/setup-*', 'scripts/*.txt', 'engine/src/', 'engine/include/', 'engine/tests/', 'engine/models/', 'engine/cmake/', ':!*.md'),
  'contract, by Schemathesis': [
    ...['scripts/test-contract', 'scripts/reelmend', 'openapi.yaml', 'test/contract/schemathesis_hooks.py', 'test/contract/schemathesis.toml'],
    ...[...imported('scripts/test-contract.ts'), ...service, ...packages],
  ],
};

describe('the inputs of the step', () => {
  it.each(Object.entries(needed))('"%s" include what it runs', (name, wanted) => {
    const step = shortSteps.find((one) => one.name === name);
    const inputs = new Set(files(...step!.inputs!));
    expect(wanted.length).toBeGreaterThan(name === 'openapi.yaml, by Redocly and Spectral' ? 5 : 20);
    expect(wanted.filter((file) => !inputs.has(file))).toEqual([]);
  });
});

it('engine/README.md explains every step, and no other', () => {
  const text = readFileSync(join(root, 'engine/README.md'), 'utf8');
  const section = text.slice(text.indexOf('\n## Which step proves what'), text.indexOf('\nMeasured times of `npm test`'));
  const explained = [...section.matchAll(/^\| ([^|`]+) \|/gm)].map(([, name]) => name);
  expect(explained).toEqual([...shortSteps, ...longSteps].map(({ name }) => name));
});

it('everything that the set-up scripts mark as installed counts', () => {
  const text = files('scripts/setup-openvino', 'scripts/setup-faces', 'scripts/setup-gpu', 'scripts/setup-tensorrt', 'scripts/setup-ffmpeg').map((file) => readFileSync(join(root, file), 'utf8'));
  expect(text).toHaveLength(5);
  for (const folder of new Set(installed.map((file) => /^\.cache\/\w+/.exec(file)![0]))) {
    expect(text.some((script) => script.includes(`$PWD/${folder}`)), folder).toBe(true);
  }
  const folders = text.flatMap((script) => [...script.matchAll(/\$PWD\/(\.cache\/\w+)/g)].map(([, folder]) => folder!));
  expect([...new Set(folders)].filter((folder) => !installed.some((file) => file.startsWith(`${folder}/`)))).toEqual([]);
});

it('no step builds the addon with other options than scripts/bootstrap --test: other steps use it meanwhile', () => {
  const scripts = shortSteps.map(({ command }) => command[1]!).filter((file) => file.startsWith('scripts/') && !file.endsWith('.ts'));
  const builds = scripts.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/^\s*scripts\/build-native.*$/gm) ?? []);
  expect(builds.length).toBeGreaterThan(0);
  expect(builds.filter((line) => !line.includes('--test'))).toEqual([]);
});

it('an unhandled error counts as a failure that no second run takes back, and no file of that run as passed', () => {
  const folder = mkdtempSync(join(root, 'build', 'unhandled-'));
  try {
    const assertions = { flaky: `expect(1).toBe(2);`, fine: `void Promise.reject(new Error('lost')); await new Promise((resolve) => setTimeout(resolve, 50));` };
    for (const [name, code] of Object.entries(assertions)) {
      writeFileSync(join(folder, `${name}.test.ts`), `import { expect, it } from 'vitest';\nit('${name}', async () => { ${code} });\n`);
    }
    const report = join(folder, 'report.json');
    const { stdout, stderr } = spawnSync('vitest', ['run', '--root', folder, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`], { encoding: 'utf8' });
    const { count, files, failures } = readVitest(report, stdout + stderr);
    expect(count).toEqual({ passed: 1, failed: 2 });
    expect(files).toEqual([]);
    expect(filesToRepeat(failures)).toEqual([]);
    expect(filesToRepeat(failures.slice(0, 1))).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a program that can no longer be executed counts as changed', () => {
  const folder = mkdtempSync(join(root, 'build', 'mode-'));
  try {
    const script = join(folder, 'script');
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o755 });
    const fingerprint = () => new Fingerprints().of(['a test'], [script]);
    const before = fingerprint();
    chmodSync(script, 0o600);
    expect(fingerprint()).not.toBe(before);
    chmodSync(script, 0o700); // another umask; git knows only that it is executable
    expect(fingerprint()).toBe(before);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
