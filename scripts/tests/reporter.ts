import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';
import type { Failure, Report, TestFile } from './report.ts';

/**
 * A Vitest reporter that writes a {@link Report} to the file named in `TEST_REPORT`. Unlike Vitest's JSON reporter, it
 * attributes errors outside of tests to the file that was running.
 */
export default class ReportWriter implements Reporter {
  #vitest?: Vitest;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const root = this.#vitest!.config.root;
    const errorsOf = (path: string) => unhandled.filter(({ VITEST_TEST_PATH: of }) => of === path);
    const report: Report = {
      files: modules.map((module) => describeFile(module, root, errorsOf(module.moduleId))),
      errors: unhandled
        .filter(({ VITEST_TEST_PATH: of }) => !modules.some(({ moduleId }) => moduleId === of))
        .map(messageOf),
    };
    writeFileSync(process.env.TEST_REPORT!, JSON.stringify(report));
  }
}

function describeFile(module: TestModule, root: string, unhandled: readonly SerializedError[]): TestFile {
  const all = [...module.children.allTests()];
  const failed = all.filter((test) => test.result().state === 'failed');
  // A file that can't be loaded, or that fails in a hook, has no failed test.
  const ofFile = module.errors().map((error) => ({ title: 'could not be loaded', message: messageOf(error) }));
  const ofSuites = [...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => ({ title: suite.fullName, message: messageOf(error) })),
  );
  const outside = unhandled.map((error) => ({ title: 'an error outside of its tests', message: messageOf(error) }));
  return {
    file: relative(root, module.moduleId),
    tier: module.project.name,
    seconds: module.diagnostic().duration / 1000,
    passed: all.filter((test) => test.result().state === 'passed').length,
    skipped: all.filter((test) => test.result().state === 'skipped').length,
    failures: [...ofFile, ...ofSuites, ...failed.map(describeFailure), ...outside],
  };
}

function describeFailure(test: TestCase): Failure {
  return { title: test.fullName, message: (test.result().errors ?? []).map(messageOf).join('\n') };
}

const messageOf = ({ message, stack }: { message?: string; stack?: string }) => stack ?? message ?? 'unknown error';
