import pino from 'pino';
import { expect, test } from 'vitest';
import { createGraphQLServer } from '../../src/graphql/yoga.ts';
import type { GraphQLContext } from '../../src/schema/context.ts';

const lines: string[] = [];
const { yoga } = createGraphQLServer({
  log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }),
  ownDocuments: new Set(),
  publicUrl: undefined,
  poolSize: 10,
});

async function errorsFor(query: string): Promise<{ message: string; code: string }[]> {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const context = { viewer: { kind: 'user', userId: 'usr_1' } } as unknown as GraphQLContext;
  const request = { method: 'POST', headers, body: JSON.stringify({ query }) };
  const response = await yoga.fetch('http://localhost/graphql', request, context);
  const [, data = ''] = /^data: (.+)$/m.exec(await response.text()) ?? [];
  type Result = { errors: { message: string; extensions: { code: string } }[] };
  return (JSON.parse(data) as Result).errors.map(({ message, extensions }) => ({ message, code: extensions.code }));
}

const FIELD = 'eventRecorded(projectId: "x")';

test.each([
  ['its field', `{ ${FIELD} @skip(if: false) { cursor } }`],
  ['its field, in a fragment', `{ ...Root } fragment Root on Subscription { ${FIELD} @skip(if: false) { cursor } }`],
  ['a fragment', `{ ...Root @skip(if: false) } fragment Root on Subscription { ${FIELD} { cursor } }`],
  ['an inline fragment', `{ ... @skip(if: false) { ${FIELD} { cursor } } }`],
  ['its field with @include', `{ ${FIELD} @skip(if: false) @include(if: true) { cursor } }`],
])('a subscription with a condition on %s is invalid, and nothing is logged', async (_what, selection) => {
  const message = 'A subscription can’t use @skip or @include on its field.';
  const errors = await errorsFor(`subscription ${selection}`);
  expect(errors).toEqual([{ message, code: 'GRAPHQL_INVALID' }]);
  expect(lines).toEqual([]);
});

test('a subscription with a fragment that contains itself is invalid', async () => {
  const errors = await errorsFor('subscription { ...A } fragment A on Subscription { ...A }');
  expect(errors).toContainEqual(expect.objectContaining({ code: 'GRAPHQL_INVALID' }));
});
