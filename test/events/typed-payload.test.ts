import { type GraphQLObjectType, type GraphQLUnionType, getNullableType, isNonNullType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { SAMPLE_PAYLOADS } from '../../src/events/samples.ts';
import { hasAllFields } from '../../src/events/typed-payload.ts';
import { EVENT_PAYLOADS, EVENT_TYPES, schemaName } from '../../src/events/types.ts';
import { currentPayload, type PayloadVersions } from '../../src/events/versions.ts';
import { schema } from '../../src/graphql/schema.ts';

const union = schema.getType('EventPayload') as GraphQLUnionType;

describe('the union EventPayload', () => {
  test('has a type with the same fields for every event type', () => {
    const fields = Object.fromEntries(
      union.getTypes().map((type) => [type.name, Object.keys(type.getFields()).sort()]),
    );
    expect(fields).toEqual(
      Object.fromEntries(
        EVENT_TYPES.map((eventType) => [
          `${schemaName(eventType)}Data`,
          Object.keys(EVENT_PAYLOADS[eventType].shape).sort(),
        ]),
      ),
    );
  });

  test('gives a field the same type in all event types, so that one document can select it in each', () => {
    const types = Map.groupBy(
      union.getTypes().flatMap((type) => Object.values(type.getFields())),
      ({ name }) => name,
    );
    for (const [name, fields] of types)
      expect([...new Set(fields.map(({ type }) => String(type)))], name).toHaveLength(1);
  });

  test('requires only fields that every payload has', () => {
    for (const eventType of EVENT_TYPES) {
      const type = schema.getType(`${schemaName(eventType)}Data`) as GraphQLObjectType;
      for (const { name, type: fieldType } of Object.values(type.getFields())) {
        const { [name]: _left, ...rest } = SAMPLE_PAYLOADS[eventType] as Record<string, unknown>;
        expect(hasAllFields({ type: eventType, data: rest }), `${eventType}.${name}`).toBe(!isNonNullType(fieldType));
        expect(getNullableType(fieldType)).toBeDefined();
      }
      expect(hasAllFields({ type: eventType, data: SAMPLE_PAYLOADS[eventType] })).toBe(true);
    }
  });
});

describe('the payload of an older event', () => {
  const VERSIONS: PayloadVersions = {
    current: 3,
    down: {},
    up: {
      'endpoint.created': { 2: ({ route, ...data }) => ({ ...data, path: route }), 3: (data) => ({ ...data, v: 3 }) },
    },
  };

  test.each([
    [1, { route: '/a' }, { path: '/a', v: 3 }],
    [2, { path: '/a' }, { path: '/a', v: 3 }],
    [3, { path: '/a' }, { path: '/a' }],
    [4, { path: '/a' }, { path: '/a' }],
  ])('is converted from version %i to the current version step by step', (version, data, expected) => {
    expect(currentPayload({ type: 'endpoint.created', version, data }, VERSIONS)).toEqual(expected);
    expect(currentPayload({ type: 'payment.settled', version, data }, VERSIONS)).toEqual(data);
  });
});
