/**
 * A test's tier depends on what it needs. The end of its file name says which tier it is in:
 *
 * - `x.test.ts` (unit): no database, no socket, no other process. Enforced by `test/support/unit-guard.ts`.
 * - `x.fuzz.test.ts`: like a unit test, but takes longer: thousands of generated inputs, or very large ones.
 * - `x.service.test.ts`: needs a database, a socket, or a process.
 * - `x.browser.test.ts`: needs those and Chromium.
 * - `x.chaos.test.ts`: kills processes under load.
 * - `x.timing.test.ts`: measures real time, so nothing else may run beside it.
 */
const SERVICE_TIERS = ['service', 'browser', 'chaos', 'timing'];

/**
 * What `npm test` runs besides the unit tests: one or two files for each mechanism, to find out within minutes whether
 * it works. `npm run test:all` also runs everything else.
 */
export const CORE: Readonly<Record<string, readonly string[]>> = {
  'quick start': ['test/app/first-walk.service.test.ts', 'test/docs/demo.service.test.ts'],
};

const isCore = process.env.TEST_SELECTION === 'core';

const filesOf = (tier: string) => `test/**/*.${tier}.test.ts`;

const isOfTier = (file: string, tier: string) => file.endsWith(`.${tier}.test.ts`);

/** Tests without lasting effects can share a process and its loaded modules. */
function inOneProcess(test: { name: string; include: string[]; exclude?: string[] }) {
  return { extends: true as const, test: { ...test, isolate: false, setupFiles: ['test/support/unit-guard.ts'] } };
}

function withServices(tier: string) {
  const include = isCore
    ? Object.values(CORE)
        .flat()
        .filter((file) => isOfTier(file, tier))
    : [filesOf(tier)];
  return {
    extends: true as const,
    test: { name: tier, include, globalSetup: ['test/support/global-setup.ts'] },
  };
}

/** The Vitest projects, one per tier. */
export const PROJECTS = [
  inOneProcess({ name: 'unit', include: ['test/**/*.test.ts'], exclude: ['fuzz', ...SERVICE_TIERS].map(filesOf) }),
  ...(isCore ? [] : [inOneProcess({ name: 'fuzz', include: [filesOf('fuzz')] })]),
  ...SERVICE_TIERS.map(withServices).filter(({ test }) => test.include.length > 0),
];
