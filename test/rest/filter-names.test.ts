import { type GraphQLObjectType, getNamedType, isInputObjectType, isObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { LISTS } from '../../src/cli/lists.ts';
import { schema } from '../../src/graphql/schema.ts';
import { PAGE_PARAMETERS, queryParameters } from '../../src/rest/query-parameters.ts';
import { ROUTES } from '../../src/rest/routes.ts';

/** Maps the plural names of repeatable filters in GraphQL to their singular names in REST. */
const SINGULAR: Record<string, string> = { eventTypes: 'eventType', actions: 'action', types: 'type', tiers: 'tier' };
/** Arguments that are older names of filters, or that aren't filters. */
const NOT_FILTERS = new Set(['first', 'last', 'after', 'before', 'filter', 'types', 'walletAddress']);
/** Lists that have no filters because they are always short, or have only what needs attention. */
const UNFILTERED = new Set(['members', 'invitations', 'transfers', 'operatorHealth']);

/** Every list in the schema: its fields' names and the names of its filters, as in REST. */
const lists = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .flatMap((type: GraphQLObjectType) => Object.values(type.getFields()).map((field) => ({ type: type.name, field })))
  .filter(({ field }) => getNamedType(field.type).name.endsWith('Connection'))
  .map(({ type, field }) => {
    const filter = field.args.find(({ name }) => name === 'filter');
    const input = filter && getNamedType(filter.type);
    const fields = isInputObjectType(input) ? Object.keys(input.getFields()).map((name) => SINGULAR[name] ?? name) : [];
    const others = field.args.map(({ name }) => name).filter((name) => !NOT_FILTERS.has(name));
    return { name: `${type}.${field.name}`, type, list: field.name, filters: [...fields, ...others].sort() };
  });

/** Returns a list's path in the REST table, based on its parent's type and its name. */
function routeOf({ type, list }: { type: string; list: string }) {
  const parent = { Query: [], Viewer: ['viewer'], Project: ['project'] }[type] ?? ['project', type.toLowerCase()];
  return ROUTES.find(({ kind, at }) => kind === 'list' && at.join() === [...parent, list].join());
}

test('every list in the schema can be filtered, except lists that are always short, or have only what needs attention', () => {
  const unfiltered = lists.filter(({ filters }) => filters.length === 0).map(({ list }) => list);
  expect([...new Set(unfiltered)].sort()).toEqual([...UNFILTERED].sort());
});

test('every list with filters can be limited to a period', () => {
  for (const { name, filters } of lists)
    if (filters.length > 0) expect(filters, name).toEqual(expect.arrayContaining(['from', 'to']));
});

describe.each(lists)('$name', (list) => {
  test('has the same filters in REST as in GraphQL', () => {
    const route = routeOf(list);
    expect(route, 'a list without a route').toBeDefined();
    const names = queryParameters(schema, route!).map(({ name }) => name);
    expect(names.toSorted()).toEqual(list.filters);
  });
});

const ofProjects = lists.filter(({ type, list }) => type === 'Project' && !UNFILTERED.has(list));

describe.each(ofProjects)('tollgate $list', ({ filters, ...list }) => {
  test('has an option for every filter of the list', () => {
    const command = LISTS.find(({ path }) => path === routeOf(list)!.path.split('/').at(-1));
    expect(command, 'a list without a command').toBeDefined();
    const older = new Set(['since']);
    expect(Object.keys(command!.filters).toSorted()).toEqual(filters.filter((name) => !older.has(name)));
  });
});

test('no filter has the name of another parameter', () => {
  for (const { filters } of lists)
    for (const name of [...PAGE_PARAMETERS, 'expand']) expect(filters).not.toContain(name);
});
