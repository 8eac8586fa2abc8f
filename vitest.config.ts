import { defineConfig } from 'vitest/config';
import { hangMs } from './test/helpers/wait.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    globalSetup: ['test/helpers/global-setup.ts'],
    // Files run side by side in processes of their own; each has its own database, ports and folders.
    pool: 'forks',
    // More than the two cores of a small machine: the tests mostly wait, for the database, a browser or a process.
    maxWorkers: 3,
    // Nets for what hangs: a machine may be busy with other work. What must be fast asserts so itself.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: hangMs, interval: 100 } },
  },
});
