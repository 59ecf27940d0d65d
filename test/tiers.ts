/**
 * What a test needs decides its tier, and the end of its file name says which one it is:
 *
 * - `x.test.ts` (unit): no database, no socket, no other process. Enforced by `test/support/unit-guard.ts`.
 * - `x.service.test.ts`: a database, a socket or a process.
 * - `x.browser.test.ts`: the same, and Chromium.
 * - `x.chaos.test.ts`: the same; it kills processes under load.
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
      // These files leave nothing behind, so they share a process and the modules it has loaded.
      isolate: false,
      setupFiles: ['test/support/unit-guard.ts'],
    },
  },
  ...TIERS.map((name) => ({
    extends: true as const,
    test: { name, include: [filesOf(name)], globalSetup: ['test/support/global-setup.ts'] },
  })),
];
