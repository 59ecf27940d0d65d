import type { GraphQLInputObjectType, GraphQLObjectType } from 'graphql';
import { getNullableType, isListType } from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../src/connectors/definition.ts';
import { describeFields } from '../../../src/connectors/describe.ts';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { fieldNameOf } from '../../../src/features/connectors/typed-config.ts';
import { schema } from '../../../src/graphql/schema.ts';
import { enumName } from '../../../src/schema/scalars.ts';
import { MARK, sampleConfig } from '../../connectors/support/configs.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject } from '../../support/resources.ts';

type Config = Record<string, unknown>;
type Connector = { id: string; config: Config; typedConfig: Config | null };

let app: TestApp;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  // Nothing must be sent to vendors.
  app = await startTestApp({ env: { ROLES: 'api', EGRESS_ALLOW: '' } });
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base, id: projectId } = await createProject(alice));
});
afterAll(() => app?.stop());

const typeName = (type: ConnectorType) => {
  const name = fieldNameOf(type);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}ConnectorConfig`;
};
const fieldsOf = (type: ConnectorType) =>
  Object.keys((schema.getType(typeName(type)) as GraphQLObjectType).getFields());
const selectionOf = (type: ConnectorType) =>
  `id config typedConfig { __typename ... on ${typeName(type)} { ${fieldsOf(type).join(' ')} } }`;

const CREATE = (type: ConnectorType) => `mutation ($input: CreateConnectorInput!) {
  createConnector(input: $input) { connector { ${selectionOf(type)} } } }`;
const UPDATE = (type: ConnectorType) => `mutation ($input: UpdateConnectorInput!) {
  updateConnector(input: $input) { connector { ${selectionOf(type)} } } }`;

async function create(type: ConnectorType, input: object) {
  const { data, errors } = await alice.graphql<{ createConnector: { connector: Connector } | null }>(CREATE(type), {
    input: { projectId, type: enumName(type), eventTypes: ['ALL'], ...input },
  });
  return { connector: data?.createConnector?.connector, problem: errors?.[0]?.extensions };
}
async function update(type: ConnectorType, input: object) {
  const { data, errors } = await alice.graphql<{ updateConnector: { connector: Connector } | null }>(UPDATE(type), {
    input,
  });
  return { connector: data?.updateConnector?.connector, problem: errors?.[0]?.extensions };
}

const listOf = (value: unknown) => (typeof value === 'string' ? value.split(', ') : value);

/** A valid config in the form of typed inputs, where a list can't be written as text. */
function typedSample(type: ConnectorType): Config {
  const fields = (schema.getType(`${typeName(type)}Input`) as GraphQLInputObjectType).getFields();
  return Object.fromEntries(
    Object.entries(sampleConfig(type, 'entered')).map(([name, value]) => [
      name,
      isListType(getNullableType(fields[name]!.type)) ? listOf(value) : String(value),
    ]),
  );
}

describe.each(CONNECTOR_TYPES)('%s', (type) => {
  test('has types with the fields of its config, and the input type requires the same fields', () => {
    const described = describeFields(getConnector(type));
    expect(fieldsOf(type)).toEqual(described.map(({ name }) => name).sort());
    const input = (schema.getType(`${typeName(type)}Input`) as GraphQLInputObjectType).getFields();
    const required = Object.values(input).filter((field) => String(field.type).endsWith('!'));
    expect(required.map(({ name }) => name)).toEqual(
      described.flatMap(({ name, required }) => (required ? [name] : [])).sort(),
    );
  });

  test('is created with a typed config, which is shown typed and with masked secrets', async () => {
    const config = typedSample(type);
    const { connector, problem } = await create(type, { typedConfig: { [fieldNameOf(type)]: config } });
    expect(problem).toBeUndefined();
    expect(JSON.stringify(connector)).not.toContain(MARK);
    const unset = Object.fromEntries(fieldsOf(type).map((name) => [name, null]));
    expect(connector!.typedConfig).toEqual({ __typename: typeName(type), ...unset, ...connector!.config });
    expect(Object.keys(connector!.config).sort()).toEqual(Object.keys(config).sort());
  });
});

test('null in an optional field is the same as leaving it out', async () => {
  const { apiKey } = sampleConfig('datadog');
  const { connector } = await create('datadog', { typedConfig: { datadog: { apiKey, site: null } } });
  expect(connector!.config).not.toHaveProperty('site');
  expect(connector!.typedConfig).toMatchObject({ site: null });
});

test('a typed config that was read can be sent back with a change, and keeps the masked secrets', async () => {
  const { connector } = await create('twilio', { typedConfig: { twilio: typedSample('twilio') } });
  const { __typename, ...shown } = connector!.typedConfig!;
  const changed = await update('twilio', {
    id: connector!.id,
    typedConfig: { twilio: { ...shown, to: '+15005550009' } },
  });
  expect(changed.problem).toBeUndefined();
  expect(changed.connector!.typedConfig).toEqual({ ...connector!.typedConfig, to: '+15005550009' });
});

test('recipients that were saved as text are a list in the typed config', async () => {
  const { apiKey, from } = sampleConfig('resend');
  const { connector } = await create('resend', {
    config: { apiKey, from, to: 'a@example.com, "B, C" <b@example.com>' },
  });
  expect(connector!.typedConfig!.to).toEqual(['a@example.com', '"B, C" <b@example.com>']);
  expect(connector!.config.to).toBe('a@example.com, "B, C" <b@example.com>');
});

test('a connector without a required field has no typed config, and does not affect other connectors', async () => {
  const { connector } = await create('telegram', { typedConfig: { telegram: typedSample('telegram') } });
  const sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
  await sql.query(`UPDATE "Connector" SET "config" = "config" - 'chatId' WHERE "id" = $1`, [connector!.id]);
  await sql.end();
  const { data, errors } = await alice.graphql<{ project: { connectors: { nodes: Connector[] } } }>(
    'query ($id: ID!) { project(id: $id) { connectors(first: 2) { nodes { id typedConfig { __typename } } } } }',
    { id: projectId },
  );
  expect(errors).toBeUndefined();
  const shown = data!.project.connectors.nodes.map(({ typedConfig }) => typedConfig === null);
  // Chat IDs can be missing only if no other type requires a field with this name.
  expect(shown).toEqual([true, false]);
});

describe('a typed config is rejected', () => {
  test('if a value is invalid, with pointers to the invalid values', async () => {
    const { problem } = await create('slack', { typedConfig: { slack: { webhookUrl: 'https://example.com' } } });
    expect(problem).toMatchObject({ code: 'VALIDATION_FAILED', field: '/typedConfig/slack/webhookUrl' });
  });

  test('if it is sent together with an untyped one', async () => {
    const config = sampleConfig('slack');
    const { problem } = await create('slack', { config, typedConfig: { slack: config } });
    expect(problem).toMatchObject({ code: 'VALIDATION_FAILED', field: '/typedConfig' });
  });

  test('if its type is not the type of the connector', async () => {
    const [slack, discord] = [sampleConfig('slack'), sampleConfig('discord')];
    expect((await create('slack', { typedConfig: { discord } })).problem).toMatchObject({ field: '/typedConfig' });
    const { connector } = await create('slack', { typedConfig: { slack } });
    const { problem } = await update('slack', { id: connector!.id, typedConfig: { discord } });
    expect(problem).toMatchObject({ code: 'VALIDATION_FAILED', field: '/typedConfig' });
  });

  test('if it has two types, or none', async () => {
    const slack = sampleConfig('slack');
    for (const typedConfig of [{ slack, discord: sampleConfig('discord') }, {}, { slack: null }]) {
      expect((await create('slack', { typedConfig })).problem).toMatchObject({ code: 'GRAPHQL_INVALID' });
    }
  });

  test('if there is no config at all', async () => {
    expect((await create('slack', {})).problem).toMatchObject({ code: 'VALIDATION_FAILED', field: '/config' });
  });
});

test('REST has only the untyped config, and requires it', async () => {
  const config = sampleConfig('slack');
  const body = { type: 'slack', eventTypes: ['*'] };
  const missing = await alice.rest<{ errors: unknown }>('POST', `${base}/connectors`, body);
  expect([missing.status, missing.body.errors]).toEqual([422, [{ pointer: '/config', message: 'Required.' }]]);
  const typed = await alice.rest<{ errors: unknown }>('POST', `${base}/connectors`, {
    ...body,
    config,
    typedConfig: { slack: config },
  });
  expect([typed.status, typed.body.errors]).toEqual([422, [{ pointer: '/typedConfig', message: 'Unknown field.' }]]);
});
