import { type GraphQLObjectType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import { ID_PREFIXES } from '../../src/ids.ts';

// Caches such as Relay's store an object under its `id`, so two objects with the same one become a single object.

const identified = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .filter((type) => type.getFields().id !== undefined);
const isNode = (type: GraphQLObjectType) => type.getInterfaces().some(({ name }) => name === 'Node');

test('every type with an `id` has IDs with its own prefix', () => {
  expect(identified.map(({ name }) => name).sort()).toEqual(Object.keys(ID_PREFIXES).sort());
  const prefixes = Object.values(ID_PREFIXES);
  expect(new Set<string>(prefixes).size).toBe(prefixes.length);
  for (const type of identified) expect(String(type.getFields().id!.type), type.name).toBe('ID!');
});

test('every type with an `id` is a node, except attempts, which are read with their delivery', () => {
  expect(identified.filter((type) => !isNode(type)).map(({ name }) => name)).toEqual(['Attempt']);
});
