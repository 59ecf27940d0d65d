import { mkdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { buildServer } from '../../test/support/programs.ts';
import { countLine, failureLines, type Report, sum, type TestFile } from './report.ts';
import { runTests } from './run-tests.ts';

/** `npm run test:all`: runs all tests, and prints what each tier took and the ten slowest files. */

const ROOT = resolve(import.meta.dirname, '../..');
const SLOWEST = 10;
// `test/tiers.ts` chooses how many files run at the same time.
process.env.TEST_SELECTION = 'all';
process.env.TEST_BUILD = await build();
const report = await runTests(['vitest', 'run', ...process.argv.slice(2)]);
for (const line of [...summary(report), ...failureLines(report), countLine(report)]) process.stdout.write(`${line}\n`);
if (!countLine(report).endsWith(' 0 failed')) process.exitCode = 1;

/** Builds the programs that the tests start. Returns their folder. */
async function build(): Promise<string> {
  // They find the packages that aren't in the build, and at the same distance, the console and the migrations.
  const root = join(ROOT, 'node_modules/.cache/test-build');
  await rm(root, { recursive: true, force: true });
  await mkdir(join(root, 'dist'), { recursive: true });
  for (const folder of ['dist/console', 'dist/docs', 'prisma']) await symlink(join(ROOT, folder), join(root, folder));
  const folder = join(root, 'dist/server');
  await buildServer(folder);
  return folder;
}

function summary({ files }: Report): string[] {
  const tiers = Map.groupBy(files, ({ tier }) => tier);
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST);
  return [
    row(['tier', 'files', 'passed', 'failed', 'skipped', 'seconds of work']),
    ...[...tiers].map(([tier, ofTier]) => tierRow(tier, ofTier)),
    '',
    `The ${slowest.length} slowest files:`,
    ...slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${file}`),
    '',
  ];
}

function tierRow(tier: string, files: readonly TestFile[]): string {
  const total = (count: (file: TestFile) => number) => sum(files.map(count));
  return row([
    tier,
    files.length,
    total(({ passed }) => passed),
    total(({ failures }) => failures.length),
    total(({ skipped }) => skipped),
    Math.round(total(({ seconds }) => seconds)),
  ]);
}

function row([name, ...cells]: readonly (string | number)[]): string {
  return String(name).padEnd(10) + cells.map((cell) => String(cell).padStart(17)).join('');
}
