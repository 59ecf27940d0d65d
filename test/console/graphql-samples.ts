import type { Example } from '../../src/console/pages/graphql/examples.ts';
import { operationsIn } from '../../src/console/pages/graphql/operations.ts';
import { type GraphqlSample, sampleOf } from '../../src/console/pages/graphql/samples.ts';

/** Each example as the page would show it. */
export function graphqlSamples(examples: readonly Example[]): GraphqlSample[] {
  return examples.map(({ query }) =>
    sampleOf(query, { projectId: 'proj_1' }, operationsIn(query)[0], 'https://tollgate.example.com'),
  );
}
