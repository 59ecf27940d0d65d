import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ID_PREFIXES, newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createNotice } from '../support/notices.ts';
import { createPayment } from '../support/payments.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const NODE = 'query ($id: ID!) { node(id: $id) { __typename id } }';

let app: TestApp;
let alice: TestUser;
let mallory: TestUser;
/** For each node type, the ID of one of Alice's nodes. */
let ids: Record<string, string>;
let keyOfOtherProject: TestUser;
let keyOfProject: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  mallory = await app.user('mallory', 'ENTERPRISE');
  const make = async (path: string, body: unknown) =>
    (await alice.rest<{ id: string; key?: string }>('POST', path, body)).body;
  const project = await make('/api/projects', { name: 'Shop', walletAddress: WALLET });
  const other = await make('/api/projects', { name: 'Other', walletAddress: WALLET });
  const base = `/api/projects/${project.id}`;
  const webhook = await make(`${base}/webhooks`, { url: 'https://example.com/hook', eventTypes: ['*'] });
  const connector = await make(`${base}/connectors`, {
    type: 'slack',
    config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX' },
    eventTypes: ['*'],
  });
  const endpoint = await make(`${base}/endpoints`, {
    path: '/weather',
    upstreamUrl: 'https://api.example.com',
    priceUsd: '0.01',
  });
  const key = await make(`${base}/keys`, { name: 'Key' });
  const delivered = await alice.graphql<{ project: { deliveries: { nodes: { id: string; eventId: string }[] } } }>(
    'query ($id: ID!) { project(id: $id) { deliveries { nodes { id eventId } } } }',
    { id: project.id },
  );
  const delivery = delivered.data!.project.deliveries.nodes[0]!;
  const log = (await alice.rest<{ data: { id: string }[] }>('GET', `${base}/audit-log`)).body;
  const { paymentId, customerId } = await createPayment(app, {
    projectId: project.id,
    endpointId: endpoint.id,
    mark: 'weather',
  });
  const { body: started } = await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, {});
  ids = {
    Project: project.id,
    Endpoint: endpoint.id,
    ApiKey: key.id,
    Webhook: webhook.id,
    Connector: connector.id,
    Event: delivery.eventId,
    Delivery: delivery.id,
    Payment: paymentId,
    Customer: customerId,
    Replay: started.replay.id,
    AuditEntry: log.data[0]!.id,
    Notice: await createNotice(app, { projectId: project.id, subjectId: webhook.id }),
  };
  keyOfProject = app.caller(key.key!);
  keyOfOtherProject = app.caller((await make(`/api/projects/${other.id}/keys`, { name: 'Key' })).key!);
});

afterAll(() => app?.stop());

describe('node(id:)', () => {
  test('supports every node type', async () => {
    const { data } = await alice.graphql<{ __type: { possibleTypes: { name: string }[] } }>(
      '{ __type(name: "Node") { possibleTypes { name } } }',
    );
    expect(data!.__type.possibleTypes.map(({ name }) => name).sort()).toEqual(Object.keys(ids).sort());
  });

  test('finds the caller’s own nodes by the IDs that REST uses', async () => {
    for (const [type, id] of Object.entries(ids)) {
      expect((await alice.graphql(NODE, { id })).data, type).toEqual({ node: { __typename: type, id } });
      expect((await keyOfProject.graphql(NODE, { id })).data, type).toEqual({ node: { __typename: type, id } });
    }
  });

  test('does not reveal to others that a node exists', async () => {
    for (const [type, id] of Object.entries(ids)) {
      for (const stranger of [mallory, keyOfOtherProject]) {
        const absent = await stranger.graphql(NODE, { id: newId(type as keyof typeof ID_PREFIXES) });
        const foreign = await stranger.graphql(NODE, { id });
        expect(foreign.data, type).toEqual({ node: null });
        expect(foreign).toEqual(absent);
      }
    }
  });

  test.each([
    ['', 'nothing'],
    ['x', 'a letter'],
    ['proj_', 'only a prefix'],
    ['\u0000', 'a NUL byte'],
    [`proj_${'0'.repeat(26)}\u0000`, 'an ID followed by a NUL byte'],
    [`xxx_${'0'.repeat(26)}`, 'an unknown prefix'],
    ['UHJvamVjdDox', 'an ID of another scheme'],
    [newId('User'), 'an ID of a type that is not a node'],
    [newId('Attempt'), 'an ID of a nested object'],
    ['x'.repeat(10_000), 'a very long text'],
  ])('returns null for %j, %s', async (id) => {
    const { data, errors } = await alice.graphql(NODE, { id });
    for (const { extensions } of errors ?? []) expect(['NOT_FOUND', 'VALIDATION_FAILED']).toContain(extensions.code);
    expect(data).toEqual({ node: null });
  });
});

describe('the page size', () => {
  test.each([0, -1, 101, 2_147_483_647, -2_147_483_648])('cannot be %d, forward or backward', async (size) => {
    for (const name of ['first', 'last']) {
      const { data, errors } = await alice.graphql(`{ projects(${name}: ${size}) { nodes { id } } }`);
      expect(errors![0]!.extensions).toMatchObject({ code: 'VALIDATION_FAILED', field: `/${name}` });
      expect(data).toEqual({ projects: null });
    }
  });

  test.each([1, 100])('can be %d', async (size) => {
    const { data } = await alice.graphql<{ projects: { nodes: unknown[] } }>(
      `{ projects(first: ${size}) { nodes { id } } }`,
    );
    expect(data!.projects.nodes).toHaveLength(Math.min(size, 2));
  });

  test('must be a whole number', async () => {
    for (const size of ['"10"', '1.5', '2147483648', 'true']) {
      const { errors } = await alice.graphql(`{ projects(first: ${size}) { nodes { id } } }`);
      expect(errors![0]!.extensions.code).toBe('GRAPHQL_INVALID');
    }
  });
});
