import { GraphQLBoolean, getNamedType, isEnumType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import { expansions, PAGE_PARAMETERS, queryParameters } from '../../src/rest/query-parameters.ts';
import { type Query, queryReader } from '../../src/rest/read-query.ts';
import { ROUTES } from '../../src/rest/routes.ts';

const READING = ROUTES.filter(({ method }) => method === 'GET').map((route) => {
  const parameters = queryParameters(schema, route);
  const required = Object.fromEntries(
    parameters.filter(({ isRequired }) => isRequired).map(({ name, type }) => [name, exampleValue(type)]),
  );
  return { operationId: route.operationId, route, parameters, required, read: queryReader(schema, route) };
});

/** A valid value of a parameter, as it is written in a query. */
function exampleValue(type: Parameters<typeof getNamedType>[0]): string {
  const named = getNamedType(type);
  if (isEnumType(named)) return String(named.getValues()[0]!.value);
  if (named === GraphQLBoolean) return 'true';
  return named?.name === 'DateTime' ? '2026-01-01T00:00:00Z' : 'x';
}

function messagesOf(read: (query: Query) => unknown, query: Query) {
  try {
    read(query);
    return [];
  } catch (error) {
    return (error as { fields: unknown[] }).fields;
  }
}

const LISTS = READING.flatMap(({ operationId, route, parameters, required, read }) => {
  const expandable = [...expansions(route).keys()];
  const lists = parameters
    .filter(({ isList }) => isList)
    .map(({ name, type }) => {
      const named = getNamedType(type);
      const values = isEnumType(named) ? named.getValues().map(({ value }) => String(value)) : ['x', 'y'];
      return { operationId, name, values, required, read };
    });
  if (expandable.length > 0) lists.push({ operationId, name: 'expand', values: expandable, required, read });
  return lists;
});

test('there are lists to check', () => {
  expect(new Set(LISTS.map(({ name }) => name))).toEqual(
    new Set(['status', 'eventType', 'type', 'action', 'tier', 'expand']),
  );
});

test.each(LISTS)('$operationId reads all spellings of `$name` alike', ({ name, values, required, read }) => {
  const [first, second] = [values[0]!, values[1]!];
  const one = read({ ...required, [name]: first });
  expect(one).not.toEqual(read(required));
  for (const spelling of [`${name}[]`, `${name}[0]`, `${name}[17]`]) {
    expect(read({ ...required, [spelling]: first }), spelling).toEqual(one);
  }
  const both = read({ ...required, [name]: [first, second] });
  expect(both).not.toEqual(one);
  expect(read({ ...required, [`${name}[]`]: [first, second] })).toEqual(both);
  expect(read({ ...required, [`${name}[]`]: `${first},${second}` })).toEqual(both);
  expect(read({ ...required, [`${name}[0]`]: first, [`${name}[1]`]: second })).toEqual(both);
  expect(read({ ...required, [name]: first, [`${name}[]`]: second })).toEqual(both);
});

test.each(LISTS)('$operationId rejects other brackets after `$name`', ({ name, required, read }) => {
  for (const spelling of [`${name}[in]`, `${name}[-1]`, `${name}[][]`, `${name}[`, `${name}[0]x`]) {
    const message = `Unknown parameter \`${spelling}\`. Send \`${name}\`, and repeat it for several values.`;
    expect(messagesOf(read, { ...required, [spelling]: 'x' })).toEqual([{ pointer: `/${spelling}`, message }]);
  }
});

const SINGLES = READING.flatMap(({ operationId, route, parameters, required, read }) => [
  ...parameters
    .filter(({ isList }) => !isList)
    .map(({ name, type }) => ({ operationId, name, value: exampleValue(type), required, read })),
  ...(route.kind === 'list' ? PAGE_PARAMETERS : []).map((name) => ({ operationId, name, value: '1', required, read })),
]);

test.each(SINGLES)('$operationId rejects brackets after `$name`, which has one value', (single) => {
  const { name, value, required, read } = single;
  for (const spelling of [`${name}[]`, `${name}[0]`, `${name}[gte]`]) {
    expect(messagesOf(read, { ...required, [name]: value, [spelling]: value })).toEqual([
      {
        pointer: `/${spelling}`,
        message: `Unknown parameter \`${spelling}\`. Send \`${name}\`, without brackets, because it has only one value.`,
      },
    ]);
  }
});

describe.each(SINGLES)('$operationId', ({ name, value, required, read }) => {
  test(`rejects \`${name}\` if it is repeated`, () => {
    expect(messagesOf(read, { ...required, [name]: [value, value] })).toMatchObject([{ pointer: `/${name}` }]);
  });
});

test.each(ROUTES)('$operationId rejects a parameter that it does not have', (route) => {
  const fields = messagesOf(queryReader(schema, route), { nosuch: '1' });
  expect(fields).toContainEqual({
    pointer: '/nosuch',
    message: expect.stringMatching(
      /^Unknown parameter `nosuch`\. (This route takes no query parameters|The (only )?parameter)/,
    ),
  });
});

test('names with a special meaning in JavaScript are unknown parameters', () => {
  const { read } = READING.find(({ operationId }) => operationId === 'listPayments')!;
  for (const name of ['__proto__', '__proto__[]', 'constructor', 'toString[]']) {
    expect(messagesOf(read, Object.fromEntries([[name, '1']])), name).toMatchObject([{ pointer: `/${name}` }]);
  }
});
