import { type ExecutionArgs, getIntrospectionQuery, parse } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { expect, test, vi } from 'vitest';
import { countIntrospections, priceIntrospection } from '../../src/graphql/introspection.ts';
import { schema } from '../../src/graphql/schema.ts';

const argsOf = (query: string, variableValues: Record<string, unknown> = {}): ExecutionArgs => ({
  schema,
  document: parse(query),
  variableValues,
});
const SMALL = 'fragment S on Query { __schema { queryType { name } } }';

test('a fragment that a document selects many times is priced once, because it is executed once', () => {
  const once = priceIntrospection(argsOf(`{ ...S } ${SMALL}`));
  expect(once).toMatchObject({ schemas: 1 });
  expect(priceIntrospection(argsOf(`{ ...S ...S ... { ...S } } ${SMALL}`))).toEqual(once);
  // Without this rule, the innermost fragment would be priced a trillion times.
  const level = (index: number) => `fragment L${index} on Query { ...L${index + 1} ...L${index + 1} }`;
  const levels = Array.from({ length: 40 }, (_, index) => level(index)).join(' ');
  const nested = `{ ...L0 } ${levels} fragment L40 on Query { ...S } ${SMALL}`;
  expect(priceIntrospection(argsOf(nested))).toEqual(once);
});

test('the variables of documents without introspections are not read', () => {
  const toJSON = vi.fn();
  const args = argsOf('mutation ($input: X) { importEndpoints(input: $input) { __typename } }', { input: { toJSON } });
  expect(priceIntrospection(args)).toEqual({ points: 0, schemas: 0 });
  expect(toJSON).not.toHaveBeenCalled();
});

test('only the latest results are kept, so that many different introspections take little memory', async () => {
  const yoga = createYoga({ schema, plugins: [countIntrospections()] as Plugin[], logging: false });
  const request = new Request('http://localhost/graphql', { method: 'POST' });
  const types = vi.spyOn(schema, 'getTypeMap');
  /** Whether a document is executed. */
  async function isExecuted(index: number): Promise<boolean> {
    const query = getIntrospectionQuery().replace('{', `{ a${index}: __typename`);
    // Calculates the price. Doing so also reads the types.
    priceIntrospection(argsOf(query));
    types.mockClear();
    await yoga.getResultForParams({ params: { query }, request }, {});
    return types.mock.calls.length > 1;
  }
  for (let index = 0; index < 15; index++) await isExecuted(index);
  expect(await isExecuted(14)).toBe(false);
  expect(await isExecuted(0)).toBe(true);
});
