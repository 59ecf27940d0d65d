import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Without it vitest loads the ESM build beside the CommonJS one that Yoga requires, and instanceof fails across them.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    // A condition is waited for, however busy the machine is; the test as a whole has its own limit.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 60_000,
  },
});
