import { buildSchema, type GraphQLEnumType, parse } from 'graphql';
import { expect, test } from 'vitest';
import { resultConverter } from '../../src/rest/result-converter.ts';

const schema = buildSchema(`
  enum Color { LIGHT_RED BLUE }
  type Thing { id: ID! color: Color! colors: [Color!] parent: Thing things: [Thing!]! note: String }
  type Query { thing: Thing things: [Thing] }
`);
(schema.getType('Color') as GraphQLEnumType).getValue('LIGHT_RED')!.value = 'light.red';

const convert = (document: string, data: unknown) => resultConverter(schema, parse(document))(data);

test('enum values are converted in fields, lists, fragments, and nested objects', () => {
  const document = `
    { thing { ...Colored parent { ... on Thing { things { color } } } } }
    fragment Colored on Thing { color colors }`;
  const colored = { color: 'LIGHT_RED', colors: ['BLUE', 'LIGHT_RED'] };
  const data = { thing: { ...colored, parent: { things: [{ color: 'LIGHT_RED' }, { color: 'BLUE' }] } } };
  expect(convert(document, data)).toEqual({
    thing: {
      color: 'light.red',
      colors: ['BLUE', 'light.red'],
      parent: { things: [{ color: 'light.red' }, { color: 'BLUE' }] },
    },
  });
});

test('null stays null, and fields that were left out stay out', () => {
  const document = '{ thing { color colors parent { color } } things { color } }';
  expect(convert(document, { thing: null, things: [null, { color: 'BLUE' }] })).toEqual({
    thing: null,
    things: [null, { color: 'BLUE' }],
  });
  expect(convert(document, { thing: { color: 'BLUE', colors: null, parent: null } })).toEqual({
    thing: { color: 'BLUE', colors: null, parent: null },
  });
});

test('text that looks like an enum value is not converted', () => {
  expect(convert('{ thing { note color } }', { thing: { note: 'LIGHT_RED', color: 'LIGHT_RED' } })).toEqual({
    thing: { note: 'LIGHT_RED', color: 'light.red' },
  });
});
