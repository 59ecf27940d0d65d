import type { GraphQLObjectType } from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { EVENT_PAYLOADS, EVENT_TYPES, type EventType, schemaName } from '../../../src/events/types.ts';
import type { PayloadVersions } from '../../../src/events/versions.ts';
import { schema } from '../../../src/graphql/schema.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject } from '../../support/resources.ts';

/** Hypothetical versions: `route` in version 1 has become `path`. */
const VERSIONS: PayloadVersions = {
  current: 2,
  down: { 'endpoint.created': { 2: ({ path, ...data }) => ({ ...data, route: path }) } },
  up: { 'endpoint.created': { 2: ({ route, ...data }) => ({ ...data, path: data.path ?? route }) } },
};

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' }, payloadVersions: VERSIONS });
  sql = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice');
  projectId = (await createProject(alice)).id;
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

async function record(type: EventType, data: object, version = 2): Promise<string> {
  const id = newId('Event');
  await sql.query('INSERT INTO "Event" ("id", "projectId", "type", "data", "version") VALUES ($1, $2, $3, $4, $5)', [
    ...[id, projectId, type, JSON.stringify(data), version],
  ]);
  return id;
}

const fieldsOf = (name: string): string =>
  Object.keys((schema.getType(name) as GraphQLObjectType).getFields())
    .map((field) => (field === 'topEndpoints' ? `${field} { ${fieldsOf('RevenueDailySummaryEndpoint')} }` : field))
    .join(' ');
const FRAGMENTS = EVENT_TYPES.map((eventType) => `${schemaName(eventType)}Data`)
  .map((name) => `... on ${name} { ${fieldsOf(name)} }`)
  .join(' ');

type Found = { id: string; data: unknown; payload: Record<string, unknown> | null };
const eventOf = async (id: string) => {
  const { data, errors } = await alice.graphql<{ project: { event: Found } }>(
    `query ($projectId: ID!, $id: ID!) { project(id: $projectId) { event(id: $id) { id data payload { __typename ${FRAGMENTS} } } } }`,
    { projectId, id },
  );
  expect(errors).toBeUndefined();
  return data!.project.event;
};

test.each(EVENT_TYPES)('the payload of %s has the same values as its data', async (eventType) => {
  const sample = SAMPLE_PAYLOADS[eventType] as Record<string, unknown>;
  const { data, payload } = await eventOf(await record(eventType, sample));
  const stage = typeof sample.stage === 'string' ? { stage: sample.stage.toUpperCase() } : {};
  const left = Object.keys(EVENT_PAYLOADS[eventType].shape).filter((name) => !(name in sample));
  const unset = Object.fromEntries(left.map((name) => [name, null]));
  expect(payload).toEqual({ __typename: `${schemaName(eventType)}Data`, ...unset, ...sample, ...stage });
  expect(data).toEqual(sample);
});

test('a field that the payload leaves out is null', async () => {
  const sample = SAMPLE_PAYLOADS['payment.failed'];
  expect(sample).not.toHaveProperty('upstreamStatusCode');
  const { payload } = await eventOf(await record('payment.failed', { ...sample, payer: null }));
  expect(payload).toMatchObject({ upstreamStatusCode: null, payer: null, reason: sample.reason });
});

test('the payload of an older event is in the current version, and its data stays as recorded', async () => {
  const { path, ...rest } = SAMPLE_PAYLOADS['endpoint.created'];
  const { data, payload } = await eventOf(await record('endpoint.created', { ...rest, route: path }, 1));
  expect(payload).toMatchObject({ __typename: 'EndpointCreatedData', path });
  expect(data).toEqual({ ...rest, route: path });
});

test('one event without the fields of its type has no payload, and does not affect other events', async () => {
  const [odd, good] = [
    await record('endpoint.created', {}),
    await record('endpoint.created', SAMPLE_PAYLOADS['endpoint.created']),
  ];
  const { data, errors } = await alice.graphql<{ project: { events: { nodes: Found[] } } }>(
    `query ($projectId: ID!) { project(id: $projectId) { events(first: 2) { nodes { id payload { __typename } } } } }`,
    { projectId },
  );
  expect(errors).toBeUndefined();
  expect(data!.project.events.nodes).toEqual([
    { id: good, payload: { __typename: 'EndpointCreatedData' } },
    { id: odd, payload: null },
  ]);
});
