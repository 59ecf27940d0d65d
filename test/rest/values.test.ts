import fc from 'fast-check';
import { type GraphQLEnumType, type GraphQLInputObjectType, isEnumType, isInputObjectType } from 'graphql';
import { expect, test } from 'vitest';
import type { FieldError } from '../../src/errors.ts';
import { schema } from '../../src/graphql/schema.ts';
import { toVariable } from '../../src/rest/values.ts';

const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
const enums = Object.values(schema.getTypeMap()).filter((type) => isEnumType(type) && !type.name.startsWith('__'));

function convert(type: GraphQLInputObjectType | GraphQLEnumType, value: unknown) {
  const errors: FieldError[] = [];
  return { result: toVariable(type, value, errors), errors };
}

test('every enum value is accepted in its REST spelling', () => {
  expect(enums.length).toBeGreaterThan(5);
  for (const type of enums as GraphQLEnumType[]) {
    for (const { name, value } of type.getValues()) {
      expect(convert(type, value)).toEqual({ result: name, errors: [] });
    }
  }
});

test.each([
  ['isActive', 'true', 'Send it without quotes: true.'],
  ['isActive', 'yes', 'Must be true or false.'],
  ['timeoutSeconds', '30', 'Send it without quotes: 30.'],
  ['timeoutSeconds', 'thirty', 'Must be a whole number.'],
  ['timeoutSeconds', 1.5, 'Must be a whole number.'],
  ['priceUsd', 0.01, 'Send it as a string: "0.01".'],
])('the error for %s: %j says how to write it', (field, value, message) => {
  const type = schema.getType('UpdateEndpointInput') as GraphQLInputObjectType;
  const { errors } = convert(type, { id: 'ep', [field]: value });
  expect(errors).toEqual([{ pointer: `/${field}`, message }]);
});

test('every enum value is accepted in uppercase and lowercase', () => {
  for (const type of enums as GraphQLEnumType[]) {
    for (const { name, value } of type.getValues()) {
      const spelling = String(value);
      for (const other of [spelling.toUpperCase(), spelling.toLowerCase()]) {
        expect(convert(type, other), other).toEqual({ result: name, errors: [] });
      }
    }
  }
  const input = schema.getType('CreateWebhookInput') as GraphQLInputObjectType;
  const body = { projectId: 'p', url: 'u', eventTypes: ['Payment.Settled'] };
  expect(convert(input, body).result).toEqual({ ...body, eventTypes: ['PAYMENT_SETTLED'] });
});

test('event types are spelled with dots and connector types with dashes, unlike in GraphQL', () => {
  const kind = schema.getType('EventTypeFilter') as GraphQLEnumType;
  expect(convert(kind, 'payment.settled').result).toBe('PAYMENT_SETTLED');
  expect(convert(kind, '*').result).toBe('ALL');
  expect(convert(kind, 'PAYMENT_SETTLED').errors).toHaveLength(1);
  const type = schema.getType('ConnectorType') as GraphQLEnumType;
  expect(convert(type, 'google-sheets').result).toBe('GOOGLE_SHEETS');
});

test('only known fields of any JSON value are accepted, and every error points to its place', () => {
  const property = fc.property(fc.constantFrom(...inputs), fc.jsonValue(), (type, value) => {
    fc.pre(value !== null);
    const { result, errors } = convert(type, value);
    if (errors.length === 0) {
      const names = Object.keys(result as object);
      expect(names.every((name) => name in type.getFields())).toBe(true);
    }
    for (const { pointer, message } of errors) {
      expect(pointer).toMatch(/^(\/.*)?$/s);
      expect(message).not.toBe('');
    }
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('a required field that is missing or null is reported', () => {
  const type = schema.getType('CreateWebhookInput') as GraphQLInputObjectType;
  const { errors } = convert(type, { url: null, description: null });
  expect(errors.map(({ pointer }) => pointer).sort()).toEqual(['/eventTypes', '/projectId', '/url']);
});

test('invalid list items are reported by their index', () => {
  const type = schema.getType('CreateWebhookInput') as GraphQLInputObjectType;
  const { errors } = convert(type, { projectId: 'p', url: 'u', eventTypes: ['*', 'nope', null, 3] });
  expect(errors.map(({ pointer }) => pointer)).toEqual(['/eventTypes/1', '/eventTypes/2', '/eventTypes/3']);
});

test.each<[unknown, boolean]>([
  ['2026-01-02T03:04:05Z', true],
  ['2026-01-02T03:04Z', true],
  ['2026-01-02T03:04:05.678+02:00', true],
  ['0001-01-01T00:00:00Z', true],
  ['9999-12-31T23:59:59.999Z', true],
  ['0000-12-31T23:59:59Z', false],
  ['9999-12-31T23:59:59-23:59', false],
  ['0001-01-01T00:00:00+14:00', false],
  ['2026-01-02', false],
  ['2026-01-02T03:04:05', false],
  ['2026-02-30T25:00:00Z', false],
  ['2028-02-29T23:59:59-05:00', true],
  ['2027-02-29T00:00:00Z', false],
  ['2026-04-31T12:00:00Z', false],
  ['2026-01-02 03:04:05Z', false],
  ['+02026-01-02T03:04:05Z', false],
  ['2026-01-02T03:04:05.1234567890Z', false],
  ['now', false],
  ['', false],
  [0, false],
  [{}, false],
])('%j is accepted as a time: %j', (value, accepted) => {
  const type = schema.getType('DeliveryFilter') as GraphQLInputObjectType;
  const { errors } = convert(type, { since: value });
  expect(errors.map(({ pointer }) => pointer)).toEqual(accepted ? [] : ['/since']);
});
