import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { PROJECTS } from './test/tiers.ts';

// Hundreds of processes are started: most of what each of them takes is compiling the same files.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

export default defineConfig({
  test: {
    projects: PROJECTS,
    globalSetup: ['test/support/report-left-out.ts'],
    // Without it vitest loads the ESM build beside the CommonJS one that Yoga requires, and instanceof fails across them.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 180_000,
    // A condition is waited for, however busy the machine is; the test as a whole has its own limit.
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 180_000,
  },
});
