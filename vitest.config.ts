import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/helpers/longest-first.ts';
import { hangMs } from './test/helpers/wait.ts';

/**
 * Files that replace modules, or test what a module keeps for the whole process: they load theirs anew. In a process whose modules
 * another file has loaded before, `vi.mock` has no effect.
 */
const replacesModules = (file: string) => readFileSync(file, 'utf8').includes('vi.mock(');
const ownModules = ['test/net/temporary.test.ts', 'test/service/proxy-cli.test.ts', ...globSync('{test,src}/**/*.test.ts').filter(replacesModules)];

export default defineConfig({
  test: {
    globalSetup: ['test/helpers/global-setup.ts'],
    // Files run side by side in processes; each file has its own database, ports and folders.
    pool: 'forks',
    // More than the two cores of a small machine: the tests mostly wait, for the database, a browser or a process.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // Nets for what hangs: a machine may be busy with other work. What must be fast asserts so itself.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: hangMs, interval: 100 } },
    projects: [
      {
        extends: true,
        // Loading the service's modules once a process instead of once a file saves 40 % of the processor time.
        test: { name: 'service', isolate: false, include: ['test/**/*.test.ts', 'src/**/*.test.ts'], exclude: ownModules },
      },
      { extends: true, test: { name: 'own modules', include: ownModules } },
    ],
  },
});
