import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ID_PREFIXES, newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { createNotice } from '../support/notices.ts';
import { userIdOf } from '../support/operator.ts';
import { createPayment } from '../support/payments.ts';
import { createProject } from '../support/resources.ts';

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
  const { body: started } = await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, { all: true });
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
    // Alice has no nodes of the last three types, which test/features/members tests.
    const names = [...Object.keys(ids), 'User', 'Viewer', 'ProjectMember', 'Invitation', 'ProjectTransfer'];
    expect(data!.__type.possibleTypes.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  test('finds the caller’s own nodes by the IDs that REST uses', async () => {
    for (const [type, id] of Object.entries(ids)) {
      expect((await alice.graphql(NODE, { id })).data, type).toEqual({ node: { __typename: type, id } });
      expect((await keyOfProject.graphql(NODE, { id })).data, type).toEqual({ node: { __typename: type, id } });
    }
  });

  test('finds the caller themselves, and nobody else', async () => {
    const selves = async (caller: TestUser) => {
      const { data } = await caller.graphql<{ viewer: { id: string; user: { id: string } } }>(
        '{ viewer { id user { id } } }',
      );
      return { Viewer: data!.viewer.id, User: data!.viewer.user.id };
    };
    const own = await selves(alice);
    const ofKey = await selves(keyOfProject);
    // An API key acts for its project's owner, but is a separate viewer.
    expect(ofKey.User).toBe(own.User);
    expect(ofKey.Viewer).not.toBe(own.Viewer);
    for (const [caller, found] of [[alice, own] as const, [keyOfProject, ofKey] as const]) {
      for (const [type, id] of Object.entries(found)) {
        expect((await caller.graphql(NODE, { id })).data, type).toEqual({ node: { __typename: type, id } });
      }
      const { data } = await caller.graphql('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', {
        ids: [found.Viewer, ids.Project, found.User],
      });
      expect(data).toEqual({
        nodes: [
          ...[
            { __typename: 'Viewer', id: found.Viewer },
            { __typename: 'Project', id: ids.Project },
          ],
          { __typename: 'User', id: found.User },
        ],
      });
    }
    const hidden = [own.Viewer, own.User, ofKey.Viewer];
    for (const id of hidden) expect((await mallory.graphql(NODE, { id })).data).toEqual({ node: null });
    const { data } = await mallory.graphql('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: hidden });
    expect(data).toEqual({ nodes: [null, null, null] });
    expect((await alice.graphql(NODE, { id: ofKey.Viewer })).data).toEqual({ node: null });
  });

  test('finds the owner of a project that the caller is a member of', async () => {
    const owner = await person(app, 'olaf');
    const member = await person(app, 'mia');
    const { id, base } = await createProject(owner);
    const ownerId = await userIdOf(owner);
    expect((await member.graphql(NODE, { id: ownerId })).data).toEqual({ node: null });
    await join(owner, base, member, 'VIEWER');
    const shown = await member.graphql('query ($id: ID!) { project(id: $id) { owner { id } } }', { id });
    expect(shown.data).toEqual({ project: { owner: { id: ownerId } } });
    expect((await member.graphql(NODE, { id: ownerId })).data).toEqual({ node: { __typename: 'User', id: ownerId } });
    expect((await owner.graphql(NODE, { id: await userIdOf(member) })).data).toEqual({ node: null });
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
    [newId('User'), 'an ID of a user who does not exist'],
    [newId('Attempt'), 'an ID of a nested object'],
    ['x'.repeat(10_000), 'a very long string'],
  ])('returns null for %j, %s', async (id) => {
    const { data, errors } = await alice.graphql(NODE, { id });
    for (const { extensions } of errors ?? []) expect(['NOT_FOUND', 'VALIDATION_FAILED']).toContain(extensions.code);
    expect(data).toEqual({ node: null });
  });
});

describe('nodes(ids:)', () => {
  const NODES = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }';
  const nodesOf = (caller: TestUser, given: string[]) => caller.graphql<{ nodes: unknown[] }>(NODES, { ids: given });
  const all = () => Object.entries(ids).map(([type, id]) => ({ __typename: type, id }));

  test('finds nodes of all types in one query, in the order of the IDs, even if an ID is repeated', async () => {
    const nodes = all().toReversed();
    for (const caller of [alice, keyOfProject]) {
      const { data, errors } = await nodesOf(
        caller,
        [...nodes, nodes[0]!].map(({ id }) => id),
      );
      expect(errors).toBeUndefined();
      expect(data).toEqual({ nodes: [...nodes, nodes[0]] });
    }
  });

  test('returns null in place of nodes that the caller can’t see or that don’t exist', async () => {
    const given = Object.values(ids);
    const missing = Object.keys(ids).map((type) => newId(type as keyof typeof ID_PREFIXES));
    for (const stranger of [mallory, keyOfOtherProject]) {
      const foreign = await nodesOf(stranger, given);
      expect(foreign.errors).toBeUndefined();
      expect(foreign.data).toEqual({ nodes: given.map(() => null) });
      expect(await nodesOf(stranger, missing)).toEqual(foreign);
    }
    const around = [missing[0]!, ids.Event!, 'x', newId('Attempt'), '\0', ids.Project!, newId('User')];
    const { data, errors } = await nodesOf(alice, around);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      nodes: [
        ...[null, { __typename: 'Event', id: ids.Event }, null, null, null],
        ...[{ __typename: 'Project', id: ids.Project }, null],
      ],
    });
  });

  test('takes at most 100 IDs, and costs the same as a page with that many items', async () => {
    const ask = async (count: number, selection: string) => {
      const given = Array.from({ length: count }, () => ids.Project);
      const { errors, extensions } = await alice.graphql(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, {
        ids: given,
      });
      return { code: errors?.[0]?.extensions.code, cost: (extensions as { cost?: { requested: number } })?.cost };
    };
    expect((await ask(101, 'id')).code).toBe('VALIDATION_FAILED');
    expect((await ask(100, 'id')).code).toBeUndefined();
    expect((await ask(100, 'id')).cost!.requested).toBeGreaterThan(10);
    const costly = '... on Project { deliveries(first: 100) { nodes { attempts { number } } } }';
    expect((await ask(1, costly)).code).toBeUndefined();
    expect((await ask(50, costly)).code).toBe('GRAPHQL_TOO_COMPLEX');
    expect(await nodesOf(alice, [])).toMatchObject({ data: { nodes: [] } });
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
