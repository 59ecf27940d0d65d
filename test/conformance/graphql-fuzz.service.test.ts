import fc from 'fast-check';
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  parse,
  validate,
} from 'graphql';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import type { TestApp, TestUser } from '../support/app.ts';
import { hostileFilter, hostileJson, hostileText } from '../support/hostile-text.ts';
import { GOOD } from '../support/resources.ts';
import { openFuzzTarget } from './fuzz-target.ts';
import { WITH_VENDOR } from './isolation-operations.ts';

/** For a longer run: `FUZZ_RUNS=5000 npx vitest run test/conformance/graphql-fuzz`. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 20);
const TIMEOUT_MILLISECONDS = 180_000 + RUNS * 1_000;

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let ids: Record<string, string>;

beforeAll(async () => {
  ({ app, alice, ids } = await openFuzzTarget());
  sql = new pg.Pool({ connectionString: app.databaseUrl });
});
// In a long run, a mutation creates as many projects as an account can have, and the next one needs room.
afterEach(() => sql.query('DELETE FROM "Project" WHERE id <> $1', [ids.projectId]));
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

/** Builds a query for a field of each type. */
const PLACES: Record<string, (call: string) => string> = {
  Query: (call) => call,
  Mutation: (call) => call,
  Viewer: (call) => `viewer { ${call} }`,
  Project: (call) => `project(id: "${ids.projectId}") { ${call} }`,
  Revenue: (call) => `project(id: "${ids.projectId}") { revenue { ${call} } }`,
  Webhook: (call) => `node(id: "${ids.webhookId}") { ... on Webhook { ${call} } }`,
  Connector: (call) => `node(id: "${ids.connectorId}") { ... on Connector { ${call} } }`,
  Delivery: (call) => `project(id: "${ids.projectId}") { deliveries(first: 1) { nodes { ${call} } } }`,
  Customer: (call) => `node(id: "${ids.customerId}") { ... on Customer { ${call} } }`,
};

/** A place in the variables, and values that GraphQL accepts there. */
type Leaf = {
  path: string[];
  values: fc.Arbitrary<unknown>;
  /** Returns the value to send for some text, if the place accepts text. */
  ofText?: (text: string) => unknown;
};

/** Tried in every place that accepts text. The last one is as long as a request can be. */
const TEXTS = ['\0', '\ud800', 'x'.repeat(200_000)];

const SCALARS: Record<string, fc.Arbitrary<unknown>> = {
  ID: hostileText(),
  String: hostileText(),
  JSON: hostileJson(),
  Boolean: fc.boolean(),
  Int: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  Float: fc.double({ noNaN: true, noDefaultInfinity: true }),
  DateTime: fc
    .date({ noInvalidDate: true, min: new Date('0000-01-01'), max: new Date('9999-12-31') })
    .map((date) => date.toJSON()),
};

function leavesOf(nullable: GraphQLInputType, path: string[]): Leaf[] {
  const type = getNullableType(nullable);
  if (isInputObjectType(type)) {
    return Object.values(type.getFields()).flatMap((field) => leavesOf(field.type, [...path, field.name]));
  }
  if (isListType(type)) {
    const items = leavesOf(type.ofType, path);
    return items.map((item) => ({ ...item, values: fc.array(item.values, { maxLength: 3 }) }));
  }
  if (isEnumType(type)) {
    return [{ path, values: fc.constantFrom(...type.getValues().map(({ name }) => name)) }];
  }
  if (path.at(-1) === 'filter')
    return [
      {
        path,
        values: fc.oneof(hostileFilter(), hostileJson()),
        ofText: (text) => ({ 'data.path': { contains: text } }),
      },
    ];
  return [{ path, values: SCALARS[type.name]!, ...(['ID', 'String'].includes(type.name) && { ofText: String }) }];
}

const DOCUMENT = JSON.stringify({
  openapi: '3.1.0',
  servers: [{ url: 'https://api.example.com' }],
  paths: { '/imported': { get: {} } },
});
/** The input fields that mutations need in addition to those that the schema requires. */
const ALSO_NEEDED: Record<string, object> = {
  recordTestEvent: { eventType: 'PAYMENT_SETTLED' },
  transferProject: { memberId: 'none' },
  createConnector: { config: GOOD.connector.config },
  createReplay: { all: true },
  previewImport: { document: DOCUMENT },
  importEndpoints: { document: DOCUMENT, items: [{ path: '/imported', priceUsd: '1' }] },
};

/** Returns a valid value with only the required fields. */
function goodOf(nullable: GraphQLInputType, name: string, asked: string): unknown {
  const type = getNullableType(nullable);
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).filter(isRequiredInputField);
    const required = Object.fromEntries(fields.map((field) => [field.name, goodOf(field.type, field.name, asked)]));
    return name === 'input' ? { ...required, ...ALSO_NEEDED[asked] } : required;
  }
  const subject = Object.keys(ids).find((key) => asked.toLowerCase().includes(key.slice(0, -2).toLowerCase()));
  const known: Record<string, unknown> = {
    ...GOOD.endpoint,
    ...GOOD.webhook,
    ...GOOD.project,
    ...GOOD.connector,
    filter: { type: 'payment.settled' },
    type: 'SLACK',
    mode: 'TEST',
    eventTypes: ['ALL'],
    projectId: ids.projectId,
    tool: 'list_payments',
    state: 'unknown',
    role: 'VIEWER',
    email: 'guest@example.com',
    memberId: 'none',
    code: 'unknown',
    reason: 'Unpaid invoice.',
    ids: [ids.projectId],
    query: 'weather',
    // Mutations that delete get an ID that doesn't exist, because other operations need the resources.
    id: /^(delete|revoke)/.test(asked) || !subject ? 'none' : ids[subject],
  };
  return known[name];
}

function requestOf(typeName: string, field: GraphQLField<unknown, unknown>) {
  const declared = field.args
    .map(
      (argument) =>
        `$${argument.name}: ${isRequiredArgument(argument) ? argument.type : getNullableType(argument.type)}`,
    )
    .join(', ');
  const given = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const selection = isCompositeType(getNamedType(field.type)) ? '{ __typename }' : '';
  const operation = typeName === 'Mutation' ? 'mutation' : 'query';
  const needed = field.args.filter(isRequiredArgument);
  return {
    query: `${operation} (${declared}) { ${PLACES[typeName]!(`${field.name}(${given}) ${selection}`)} }`,
    good: Object.fromEntries(needed.map(({ name, type }) => [name, goodOf(type, name, field.name)])),
    leaves: field.args.flatMap(({ name, type }) => leavesOf(type, [name])),
  };
}

/** Returns the variables with another value in one place. */
function replaced(variables: unknown, [name, ...rest]: string[], value: unknown): unknown {
  if (name === undefined) return value;
  const inside = (variables ?? {}) as Record<string, unknown>;
  return { ...inside, [name]: replaced(inside[name], rest, value) };
}

describe('hostile arguments never cause an internal error', () => {
  const fields = Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith('__') && type.name !== 'Subscription')
    .flatMap((type) =>
      Object.values((type as GraphQLObjectType).getFields()).map((field) => ({ type: type.name, field })),
    )
    .filter(({ field }) => field.args.length > 0)
    .map(({ type, field }) => ({ type, field, name: `${type}.${field.name}` }));

  test.each(fields)(
    '$name',
    async ({ type, field }) => {
      expect(Object.keys(PLACES), 'add a query for this type to PLACES').toContain(type);
      const { query, good, leaves } = requestOf(type, field);
      expect(validate(schema, parse(query))).toEqual([]);
      const ask = async (variables: unknown) => {
        const { errors = [] } = await alice.graphql(query, variables as Record<string, unknown>);
        const codes = errors.map(({ extensions }) => extensions?.code ?? 'none');
        for (const code of ['none', 'INTERNAL']) expect(codes, JSON.stringify(variables)).not.toContain(code);
        return codes;
      };
      const expected = WITH_VENDOR.has(field.name) ? ['NOT_FOUND', 'VALIDATION_FAILED'] : ['NOT_FOUND'];
      expect((await ask(good)).filter((code) => !expected.includes(String(code)))).toEqual([]);
      for (const { path, ofText } of leaves) {
        if (ofText) for (const text of TEXTS) await ask(replaced(good, path, ofText(text)));
      }
      const around = fc
        .constantFrom(...leaves)
        .chain(({ path, values }) => values.map((value) => replaced(good, path, value)));
      const property = fc.asyncProperty(around, async (variables) => void (await ask(variables)));
      await fc.assert(property, { numRuns: RUNS });
    },
    TIMEOUT_MILLISECONDS,
  );
});
