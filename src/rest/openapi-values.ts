import { EVENT_FIELDS, type EventField } from '../events/fields.ts';
import { DECIMAL } from '../events/filter-input.ts';
import type { Json } from './json.ts';

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const object = (description: string, properties: Json): Json => ({
  type: 'object',
  description,
  additionalProperties: false,
  minProperties: 1,
  properties,
});

const TEXT: Json = { type: 'string' };
const FRAGMENT: Json = { type: 'string', minLength: 1 };
const INTEGER: Json = { type: 'integer' };
const DECIMAL_TEXT: Json = { type: 'string', pattern: DECIMAL.source };

/** The operators for values of a schema. */
function operators(value: Json, which: { isOrdered?: boolean; isText?: boolean }): Json {
  return {
    eq: value,
    ne: value,
    in: { type: 'array', minItems: 1, items: value },
    ...(which.isOrdered && { gt: value, gte: value, lt: value, lte: value }),
    ...(which.isText && { startsWith: FRAGMENT, contains: FRAGMENT }),
    exists: { type: 'boolean', description: 'Whether the field must have a value.' },
  };
}

/** The schemas of the operators, by the type of the field. Fields with a fixed set of values have their own. */
const OPERATORS: Readonly<Record<EventField['type'], { name: string; value: Json; schema: Json }>> = {
  text: {
    name: 'TextCondition',
    value: TEXT,
    schema: object('Operators for text. All must match.', operators(TEXT, { isOrdered: true, isText: true })),
  },
  integer: {
    name: 'IntegerCondition',
    value: INTEGER,
    schema: object('Operators for whole numbers. All must match.', operators(INTEGER, { isOrdered: true })),
  },
  decimal: {
    name: 'DecimalCondition',
    value: DECIMAL_TEXT,
    schema: object('Operators for decimal strings. All must match.', operators(DECIMAL_TEXT, { isOrdered: true })),
  },
};

/** `data.stage` becomes `StageCondition`. */
function conditionName(field: string): string {
  const name = field.replace(/^data\./, '');
  return `${name[0]!.toUpperCase()}${name.slice(1)}Condition`;
}

function conditionOf(name: string, { type, choices }: EventField): { value: Json; name: string; schema: Json } {
  if (!choices) return OPERATORS[type];
  const value = { type: 'string', enum: choices };
  const description = `Operators for \`${name}\`. All must match.`;
  return { value, name: conditionName(name), schema: object(description, operators(value, {})) };
}

const CONDITIONS = [...EVENT_FIELDS].map(([field, details]) => ({ field, ...conditionOf(field, details) }));

const EVENT_CONTENT_FILTER: Json = {
  ...object('A filter on the contents of events. All conditions must match. A value without an operator means `eq`.', {
    and: { type: 'array', minItems: 1, items: refTo('EventContentFilter'), description: 'All of these must match.' },
    or: { type: 'array', minItems: 1, items: refTo('EventContentFilter'), description: 'At least one must match.' },
    not: { ...refTo('EventContentFilter'), description: 'This must not match.' },
    ...Object.fromEntries(CONDITIONS.map(({ field, value, name }) => [field, { anyOf: [value, refTo(name)] }])),
  }),
};

const JSON_SCHEMA: Json = { type: 'object', additionalProperties: true };

/** The components for values that are any JSON in GraphQL. Rules refer to them by name (`component`). */
export const VALUE_SCHEMAS: Readonly<Record<string, Json>> = {
  ...Object.fromEntries(CONDITIONS.map(({ name, schema }) => [name, schema])),
  EventContentFilter: EVENT_CONTENT_FILTER,
  EndpointInputSchema: object('The JSON Schemas of an endpoint’s input (draft 2020-12, without `$ref`).', {
    query: { ...JSON_SCHEMA, description: 'The schema of the query: an object.' },
    path: { ...JSON_SCHEMA, description: 'The schema of the path’s parameters: an object.' },
    headers: { ...JSON_SCHEMA, description: 'The schema of the headers: an object.' },
    body: { ...JSON_SCHEMA, description: 'The schema of the body.' },
  }),
  ToolCallArguments: {
    type: 'object',
    additionalProperties: true,
    description: 'The arguments of a tool call, up to 2,000 characters of JSON.',
  },
};
