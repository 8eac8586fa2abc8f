/** The checks of `npm test` and `npm run test:long`: what each runs and which files decide its outcome. */

export interface Step {
  name: string;
  command: string[];
  /**
   * The groups `engine` and `service` run concurrently, the steps of a group one after the other. The group that ends first
   * takes the steps of `either`. `last` starts when the others have ended.
   */
  group: 'engine' | 'service' | 'either' | 'last';
  /**
   * git pathspecs of the files that decide the outcome. A step that passed runs again only if one of them has changed (`npm
   * test -- --all` runs it anyway). Without pathspecs it always runs.
   */
  inputs?: string[];
  /**
   * Globs of vitest's test files. With these, each file is cached separately: it runs again only if one of the inputs has changed,
   * or a file that it can see (visible-files.ts). The command without file names runs all.
   */
  testFiles?: string[];
  /** report with its tests; without one, the exit status counts as one test */
  report?: 'vitest' | 'gtest';
}

const typescript = ['*.ts', '*.tsx', '*.js', '*.mjs', '*.cjs', '*.json', '*.yaml', '*.css', '*.html', 'patches/'];
/** Sources of the service's addon. */
const addon = ['engine/CMakeLists.txt', 'engine/cmake/', 'engine/include/', 'engine/models/', 'engine/src/', 'native/', 'scripts/'];
const engine = ['engine/', ':!engine/*.md', ':!engine/training/', ':!engine/convert/', 'native/', 'scripts/', ':!scripts/*.ts'];

/** What decides the outcome of every test file of the service: packages, settings of the runner, and sources that imports do not show: contract, migrations, engine, addon. */
const service = [
  ...['package.json', 'package-lock.json', 'patches/', 'tsconfig.json', 'vitest.config.ts', 'openapi.yaml', 'migrations/'],
  ...['test/helpers/longest-first.ts', ...addon],
];

/** Files that scripts/setup-* install. Without them, the engine is built and tested with fewer parts. */
export const installed = [
  ...['.cache/openvino/.installed', '.cache/faces/onet.onnx', '.cache/cuda/.reelmend', '.cache/ffmpeg/.installed'],
  ...['include', 'rtx', 'full'].map((part) => `.cache/tensorrt/${part}/.installed`),
];

/** Folder of the reports that scripts/test.ts reads. */
export const reports = 'build/reports';
export const vitestReport = `${reports}/vitest.json`;
export const gtestReports = 'build/engine/gtest-reports';

/** The groups run side by side: the service's tests mostly wait, the engine's mostly compute. */
export const shortSteps: Step[] = [
  { name: 'types, lint, directions', group: 'service', command: ['bash', 'scripts/lint'], inputs: [...typescript, 'engine/', 'native/', 'scripts/'] },
  { name: 'openapi.yaml, by Redocly and Spectral', group: 'service', command: ['bash', 'scripts/lint-contract'], inputs: ['openapi.yaml', 'scripts/lint-contract', 'scripts/setup-lint-tools', 'scripts/lint-tools/', 'package-lock.json'] },
  { name: 'generated code is current', group: 'service', command: ['bash', 'scripts/generate', '--check'], inputs: ['openapi.yaml', 'openapi-ts.config.ts', 'src/contract/', 'src/sdk/', 'scripts/', 'package-lock.json', 'patches/'] },
  { name: 'engine', group: 'engine', command: ['bash', 'scripts/test-engine'], inputs: engine, report: 'gtest' },
  { name: 'engine, with the libav of Debian 13', group: 'either', command: ['bash', 'scripts/test-libav-headers', 'trixie'], inputs: engine },
  { name: 'CUDA stages, without a GPU', group: 'engine', command: ['bash', 'scripts/test-cuda'], inputs: engine },
  { name: 'engine, fuzzed', group: 'engine', command: ['bash', 'scripts/fuzz-engine', '--short'], inputs: engine },
  { name: 'service', group: 'service', command: ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${vitestReport}`], inputs: service, testFiles: ['test/**/*.test.ts', 'src/**/*.test.ts'], report: 'vitest' },
  { name: 'contract, by Schemathesis', group: 'either', command: ['bash', 'scripts/test-contract'], inputs: [...addon, 'package.json', 'package-lock.json', 'patches/', 'openapi.yaml', 'migrations/', 'src/', 'test/contract/', 'test/helpers/'] },
  { name: 'engine, timed tests', group: 'last', command: ['bash', 'scripts/test-engine', '--timed'], inputs: engine, report: 'gtest' },
  { name: 'every documented status was seen', group: 'last', command: ['node', 'scripts/contract-coverage.ts'] },
];

/** All in one group, because each of these uses all cores or measures time. */
export const longSteps: Step[] = [
  { name: 'engine, long tests', group: 'engine', command: ['bash', 'scripts/test-engine', '--long'] },
  { name: 'engine, under ThreadSanitizer', group: 'engine', command: ['bash', 'scripts/test-engine', '--tsan'] },
  { name: 'engine, under AddressSanitizer', group: 'engine', command: ['bash', 'scripts/test-engine', '--asan'] },
  { name: 'engine, fuzzed for long', group: 'engine', command: ['bash', 'scripts/fuzz-engine', '--long'] },
  { name: 'engine, with newer libav', group: 'engine', command: ['bash', 'scripts/test-libav-headers'] },
  { name: 'CUDA stages, all architectures', group: 'engine', command: ['bash', 'scripts/test-cuda', '--long'] },
  { name: 'GPU tests on a rented machine, rehearsed', group: 'engine', command: ['bash', 'scripts/test-prove-gpu'] },
  { name: 'service, many crashes, bad networks, older versions', group: 'engine', command: ['env', 'REELMEND_TEST_LONG=1', 'vitest', 'run', 'test/faults', 'test/jobs/fairness'] },
  { name: 'service, long tests', group: 'engine', command: ['env', 'REELMEND_TEST_LONG=1', 'vitest', 'run', ...['browser/dialogs', 'browser/docs', 'browser/pages', 'media/media', 'service/bench-fleet', 'service/cli', 'service/enhance-cli', 'sdk/cuts', 'sdk/runtimes', 'service/first-start', 'service/output', 'service/soak'].map((file) => `test/${file}.test.ts`)] },
  { name: 'service, an hour of video', group: 'engine', command: ['env', 'REELMEND_TEST_LONG=1', 'vitest', 'run', 'test/service/long-video'] },
  { name: 'Helm chart, Compose files, systemd', group: 'engine', command: ['env', 'REELMEND_TEST_LONG=1', 'vitest', 'run', ...['chart', 'compose', 'systemd'].map((file) => `test/deploy/${file}`)] },
  { name: 'Compose, with Docker', group: 'engine', command: ['env', 'REELMEND_TEST_LONG=1', 'vitest', 'run', 'test/deploy/docker'] },
  { name: 'Helm chart, on a Kubernetes node', group: 'engine', command: ['bash', '-c', 'scripts/setup-kubernetes && REELMEND_TEST_LONG=1 vitest run test/deploy/kubernetes'] },
  { name: 'contract, all modes and tiers', group: 'engine', command: ['bash', 'scripts/test-contract', '--long'] },
  { name: 'converter of networks', group: 'engine', command: ['bash', 'engine/convert/run', 'test', '--long'] },
  { name: 'a network of PyTorch, converted and used', group: 'engine', command: ['env', 'REELMEND_TEST_LONG=1', 'vitest', 'run', 'test/service/convert-network'] },
  { name: 'training ground', group: 'engine', command: ['bash', 'engine/training/ground.sh', 'test'] },
  { name: 'Dockerfiles, without Docker', group: 'engine', command: ['bash', 'scripts/test-dockerfiles'] },
  { name: 'other distributions', group: 'engine', command: ['bash', 'scripts/test-distributions'] },
  { name: 'Ubuntu', group: 'engine', command: ['bash', 'scripts/test-distributions', 'ubuntu', 'noble'] },
];
