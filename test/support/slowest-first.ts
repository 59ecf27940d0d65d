import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, apart from those that are large enough for Vitest to run them first. If one of them
 * started last, it would use one core while the other one has nothing left to do.
 */
export const SLOWEST: readonly string[] = [
  'test/chaos/upgrade.chaos.test.ts',
  'test/chaos/service.chaos.test.ts',
  'test/conformance/isolation.service.test.ts',
  'test/database/upgrade.service.test.ts',
  'test/conformance/clients/openapi-checkers.service.test.ts',
  'test/conformance/rest-fuzz.service.test.ts',
  'test/conformance/permissions.service.test.ts',
  'test/conformance/clients/graphql-caches.service.test.ts',
  'test/conformance/clients/live-clients.service.test.ts',
  'test/conformance/graphql-fuzz.service.test.ts',
  'test/cli/json.service.test.ts',
  'test/conformance/unread-responses.service.test.ts',
  'test/suite/ci.service.test.ts',
  'test/cli/doctor.service.test.ts',
  'test/conformance/unread-streams.service.test.ts',
  'test/database/migration-script.service.test.ts',
  'test/egress/hostile.service.test.ts',
  'test/rest/limits.service.test.ts',
];

/** Runs each tier's slowest files first, and the others in Vitest's order. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const slowest = new Set(SLOWEST.map((file) => join(this.ctx.config.root, file)));
    const sorted = await super.sort(files);
    const tiers = Map.groupBy(sorted, ({ project }) => project.name);
    return [...tiers.values()].flatMap((ofTier) => {
      const { true: first = [], false: others = [] } = Object.groupBy(
        ofTier,
        ({ moduleId }) => `${slowest.has(moduleId)}`,
      );
      return [...first, ...others];
    });
  }
}
