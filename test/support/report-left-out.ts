import { relative } from 'node:path';
import type { TestProject } from 'vitest/node';
import { describeLeftOut } from './left-out.ts';

/** Prints the skipped tests at the end of a run. As a global setup, it works with every `--reporter`. */
export function setup(project: TestProject): (() => void) | undefined {
  if (!project.isRootProject()) return undefined;
  const { vitest } = project;
  return () => {
    // With `-t`, all other tests are skipped on purpose.
    if (vitest.getGlobalTestNamePattern()) return;
    const skipped = vitest.state.getTestModules().flatMap((module) =>
      [...module.children.allTests('skipped')].map((test) => ({
        file: relative(vitest.config.root, module.moduleId),
        title: test.fullName,
      })),
    );
    const lines = describeLeftOut(skipped);
    if (lines.length > 0) process.stderr.write(`\n${lines.join('\n')}\n`);
  };
}
