/** What a Vitest run reports to the commands that started it. */

export type TestFile = {
  /** Relative to the root, such as `test/money.test.ts`. */
  file: string;
  /** The Vitest project, such as `unit`. */
  tier: string;
  /** How long its hooks and tests took. */
  seconds: number;
  passed: number;
  skipped: number;
  failures: Failure[];
};

export type Failure = { title: string; message: string };

export type Report = {
  files: TestFile[];
  /** Errors outside of tests that can't be attributed to a file. */
  errors: string[];
};

export const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

export const failedFiles = ({ files }: Report) => files.filter(({ failures }) => failures.length > 0);

/** The line that every test command ends with, such as `10924 passed, 0 failed`. */
export function countLine({ files, errors }: Report): string {
  const failed = sum(files.map(({ failures }) => failures.length)) + errors.length;
  return `${sum(files.map(({ passed }) => passed))} passed, ${failed} failed`;
}

/**
 * Lists all failures, first with the start of their messages and then only their titles: a log may keep only its last
 * lines.
 */
export function failureLines(report: Report): string[] {
  const failures = failedFiles(report).flatMap(({ file, failures }) =>
    failures.map(({ title, message }) => ({ line: `FAILED ${file} › ${title}`, message: message.slice(0, 600) })),
  );
  return [
    ...failures.map(({ line, message }) => `${line}\n${message}\n`),
    ...report.errors.map((message) => `FAILED outside of a test\n${message.slice(0, 600)}\n`),
    ...failures.map(({ line }) => line),
  ];
}
