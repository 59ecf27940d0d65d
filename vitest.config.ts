import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/support/slowest-first.ts';
import { PROJECTS } from './test/tiers.ts';

// Tests start hundreds of processes, and each spends most of its startup compiling the same files.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

export default defineConfig({
  test: {
    projects: PROJECTS,
    globalSetup: ['test/support/report-left-out.ts'],
    // Without this, Vitest loads the ESM build alongside the CommonJS one that Yoga requires, and `instanceof` fails
    // between them.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
    sequence: { sequencer: SlowestFirst },
    pool: 'forks',
    // Twice the number of CI cores, because most service tests spend their time waiting.
    maxWorkers: 4,
    testTimeout: 180_000,
    // Polls for long enough even on a busy machine; the test as a whole has its own limit.
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 180_000,
  },
});
