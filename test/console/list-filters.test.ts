import { coerceInputValue, type GraphQLInputType, type GraphQLNamedType, getNamedType, isEnumType } from 'graphql';
import { describe, expect, test } from 'vitest';
import {
  type FilterField,
  type FilterFields,
  filterNamed,
  graphqlFilter,
  LIST_FILTERS,
  type ListName,
  restFilters,
  valuesIn,
} from '../../src/console/parts/list-filters.ts';
import { toLocalTime, toUtc } from '../../src/console/parts/local-time.ts';
import { schema } from '../../src/graphql/schema.ts';
import { typeAt } from '../../src/rest/document-types.ts';
import { queryParameters } from '../../src/rest/query-parameters.ts';
import { queryReader } from '../../src/rest/read-query.ts';
import { ROUTES } from '../../src/rest/routes.ts';

/** Older filter names, which new code shouldn't use. */
const OLDER = new Set(['since']);

/** Every list in a project that can be filtered. */
const lists = ROUTES.filter(({ kind, at }) => kind === 'list' && at.length === 2 && at[0] === 'project')
  .map((route) => ({ route, name: route.path.split('/').at(-1)!, parameters: queryParameters(schema, route) }))
  .filter(({ parameters }) => parameters.length > 0);

const fieldsOf = (name: string): FilterFields => LIST_FILTERS[name as ListName];

/** The REST names of a table's filters. */
const restNames = (fields: FilterFields) =>
  Object.entries(fields).flatMap(([name, field]) => (field.kind === 'destination' ? field.standsFor : [name]));

/** A value that could be entered or selected. */
function valueFor(field: FilterField): string[] {
  if (field.kind === 'many' || field.kind === 'order') {
    const type = schema.getType(field.enum);
    if (!isEnumType(type)) throw new Error(`${field.enum} is not an enum`);
    return type.getValues().map(({ name }) => name);
  }
  if (field.kind === 'yesOrNo') return ['false'];
  if (field.kind === 'time') return ['2026-01-01T00:00:00.000Z'];
  return [field.kind === 'destination' ? 'wh_1' : '0.01'];
}

const valuesFor = (fields: FilterFields) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueFor(field)]));

/** The kind of field for each type of filter. Text can also be an amount, an ID, or a destination. */
function kindsFor(name: string, type: GraphQLInputType, isList: boolean): FilterField['kind'][] {
  const named: GraphQLNamedType = getNamedType(type);
  if (isEnumType(named)) return isList ? ['many'] : ['order'];
  if (named.name === 'Boolean') return ['yesOrNo'];
  if (named.name === 'DateTime') return ['time'];
  return name.endsWith('Usd') ? ['amount'] : ['text', 'destination'];
}

test('the console has a table of filters for every list that can be filtered', () => {
  expect(Object.keys(LIST_FILTERS).sort()).toEqual(lists.map(({ name }) => name).sort());
});

describe.each(lists)('the console’s filters for $name', ({ route, name, parameters }) => {
  const fields = fieldsOf(name);

  test('are the same as in REST', () => {
    const expected = parameters.map((parameter) => parameter.name).filter((filter) => !OLDER.has(filter));
    expect(restNames(fields).sort()).toEqual(expected.sort());
  });

  test('are entered according to their types', () => {
    for (const parameter of parameters.filter((each) => !OLDER.has(each.name))) {
      const field = fields[filterNamed(fields, parameter.name)!]!;
      expect(kindsFor(parameter.name, parameter.type, parameter.isList), parameter.name).toContain(field.kind);
      const type = getNamedType(parameter.type);
      if (field.kind === 'many' || field.kind === 'order') expect(field.enum).toBe(type.name);
    }
  });

  test('are accepted by GraphQL, and each error is shown next to the right filter', () => {
    const filter = graphqlFilter(fields, valuesFor(fields));
    const errors: string[] = [];
    coerceInputValue(filter, typeAt(schema, route.document, ['filter']), (_path, _value, error) => {
      errors.push(error.message);
    });
    expect(errors).toEqual([]);
    const isSortOrder = (each: string) => fields[each]!.kind === 'order';
    const found = Object.keys(filter).map((each) => filterNamed(fields, each));
    expect(found).toEqual(Object.keys(fields).filter((each) => !isSortOrder(each)));
  });
});

const withExport = lists.filter(({ route }) => ROUTES.some(({ path }) => path === `${route.path}/export`));

describe.each(withExport)('an export of $name from the console', ({ route, name }) => {
  test('has the page’s filters as REST query parameters', () => {
    const fields = fieldsOf(name);
    const query = Object.fromEntries(
      Object.entries(restFilters(fields, valuesFor(fields))).map(([filter, selected]) => [
        filter,
        selected.length === 1 ? selected[0] : [...selected],
      ]),
    );
    expect(() => queryReader(schema, route)(query)).not.toThrow();
    expect(Object.keys(query)).not.toContain('orderBy');
  });
});

test('the console’s filters are read from the page’s URL, without empty ones and other parameters', () => {
  const search = new URLSearchParams('status=FAILED&status=PENDING&from=&destination=con_1&replay');
  const values = valuesIn(LIST_FILTERS.deliveries, search);
  expect(values).toEqual({ status: ['FAILED', 'PENDING'], destination: ['con_1'] });
  expect(graphqlFilter(LIST_FILTERS.deliveries, values)).toEqual({
    status: ['FAILED', 'PENDING'],
    connectorId: 'con_1',
  });
});

test('a time in a filter is shown in local time, and anything else is shown as empty', () => {
  for (const time of ['2026-03-01T12:30:00.000Z', '2026-07-01T23:59:58.000Z'])
    expect(toUtc(toLocalTime(time))).toBe(time);
  expect(toLocalTime('2026-03-01T12:30:00.000Z')).toMatch(/T\d\d:\d\d$/);
  expect([toLocalTime('yesterday'), toLocalTime(''), toUtc('')]).toEqual(['', '', '']);
});
