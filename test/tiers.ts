/**
 * A test's tier depends on what it needs. The end of its file name says which tier it is in:
 *
 * - `x.test.ts` (unit): no database, no socket, no other process. Enforced by `test/support/unit-guard.ts`.
 * - `x.service.test.ts`: needs a database, a socket, or a process.
 * - `x.browser.test.ts`: needs those and Chromium.
 * - `x.chaos.test.ts`: kills processes under load.
 */
const TIERS = ['service', 'browser', 'chaos'] as const;

const filesOf = (tier: string) => `test/**/*.${tier}.test.ts`;

/** The Vitest projects, one per tier. */
export const PROJECTS = [
  {
    extends: true as const,
    test: {
      name: 'unit',
      include: ['test/**/*.test.ts'],
      exclude: TIERS.map(filesOf),
      // These files have no lasting effects, so they can share a process and its loaded modules.
      isolate: false,
      setupFiles: ['test/support/unit-guard.ts'],
    },
  },
  ...TIERS.map((name) => ({
    extends: true as const,
    test: { name, include: [filesOf(name)], globalSetup: ['test/support/global-setup.ts'] },
  })),
];
