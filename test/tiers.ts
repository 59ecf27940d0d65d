/**
 * A test's tier depends on what it needs. The end of its file name says which tier it is in:
 *
 * - `x.test.ts` (unit): no database, no socket, no other process. Enforced by `test/support/unit-guard.ts`.
 * - `x.fuzz.test.ts`: like a unit test, but takes longer: thousands of generated inputs, or very large ones.
 * - `x.service.test.ts`: needs a database, a socket, or a process.
 * - `x.browser.test.ts`: needs those and Chromium.
 * - `x.chaos.test.ts`: kills processes under load.
 */
const SERVICE_TIERS = ['service', 'browser', 'chaos'];

const filesOf = (tier: string) => `test/**/*.${tier}.test.ts`;

/** Tests without lasting effects can share a process and its loaded modules. */
function inOneProcess(test: { name: string; include: string[]; exclude?: string[] }) {
  return { extends: true as const, test: { ...test, isolate: false, setupFiles: ['test/support/unit-guard.ts'] } };
}

/** The Vitest projects, one per tier. */
export const PROJECTS = [
  inOneProcess({ name: 'unit', include: ['test/**/*.test.ts'], exclude: ['fuzz', ...SERVICE_TIERS].map(filesOf) }),
  inOneProcess({ name: 'fuzz', include: [filesOf('fuzz')] }),
  ...SERVICE_TIERS.map((name) => ({
    extends: true as const,
    test: {
      name,
      include: [filesOf(name)],
      globalSetup: ['test/support/global-setup.ts'],
    },
  })),
];
