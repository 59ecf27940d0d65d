import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectSocket } from '../../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { createEndpoint, createProject } from '../../support/resources.ts';

const RESTART = 1012;

let app: TestApp;
let alice: TestUser;
let bob: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  [alice, bob] = [await person(app, 'alice'), await person(app, 'bob')];
});
afterAll(() => app?.stop());

/** Opens a socket that has already received an event of the project. */
async function watch(user: TestUser, projectId: string) {
  const client = await connectSocket(app.url, user.token);
  const query = `subscription { eventRecorded(projectId: "${projectId}") { event { id } } }`;
  client.send({ id: '1', type: 'subscribe', payload: { query } });
  const isLive = async () => {
    await createEndpoint(alice, `/api/projects/${projectId}`);
    return client.received.some(({ type }) => type === 'next');
  };
  await expect.poll(isLive).toBe(true);
  return client;
}

test('a member sees events as they happen until they are removed, which ends their sockets immediately', async () => {
  const { id, base } = await createProject(alice);
  const member = await join(alice, base, bob, 'VIEWER');
  const [client, owner] = [await watch(bob, id), await watch(alice, id)];
  await alice.rest('DELETE', `${base}/members/${member.id}`);
  expect(await client.closed).toMatchObject({ code: RESTART });
  const endpoint = await createEndpoint(alice, base);
  const { body } = await alice.rest<{ data: { id: string; data: { endpointId?: string } }[] }>('GET', `${base}/events`);
  const event = body.data.find(({ data }) => data.endpointId === endpoint.id)!;
  await owner.next((message) => JSON.stringify(message).includes(event.id));
  expect(JSON.stringify(client.received)).not.toContain(event.id);
  await owner.close();

  const again = await connectSocket(app.url, bob.token);
  const query = `subscription { eventRecorded(projectId: "${id}") { event { id } } }`;
  again.send({ id: '1', type: 'subscribe', payload: { query } });
  expect(JSON.stringify(await again.next())).toContain('NOT_FOUND');
  await again.close();
});

test('a removed member gets no more events even on a socket that hasn’t ended yet', async () => {
  const { id, base } = await createProject(alice);
  const member = await join(alice, base, bob, 'VIEWER');
  const client = await watch(bob, id);
  const { default: pg } = await import('pg');
  const sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
  // Without a hint, the socket stays open for up to five seconds.
  await sql.query('DELETE FROM "ProjectMember" WHERE "id" = $1', [member.id]);
  await sql.end();
  const endpoint = await createEndpoint(alice, base);
  expect(await client.closed).toMatchObject({ code: RESTART });
  const { body } = await alice.rest<{ data: { id: string; data: { endpointId?: string } }[] }>('GET', `${base}/events`);
  const event = body.data.find(({ data }) => data.endpointId === endpoint.id)!;
  expect(JSON.stringify(client.received)).not.toContain(event.id);
});

test('a person without memberships keeps their sockets when others’ memberships change', async () => {
  const { id, base } = await createProject(alice);
  const client = await watch(alice, id);
  await join(alice, base, await person(app, 'carol'), 'VIEWER');
  const endpoint = await createEndpoint(alice, base);
  expect(endpoint.id).toMatch(/^ep_/);
  await client.close();
  expect((await client.closed).code).not.toBe(RESTART);
});

test('a member’s sockets end when the project is deleted, even before their credentials are checked again', async () => {
  const patient = await startTestApp({ env: { ROLES: 'api' }, credentialRecheckMilliseconds: 60 * 60_000 });
  try {
    const [owner, member] = [await person(patient, 'owner'), await person(patient, 'member')];
    const { base } = await createProject(owner);
    await join(owner, base, member, 'VIEWER');
    const client = await connectSocket(patient.url, member.token);
    expect((await owner.rest('DELETE', base)).status).toBe(204);
    expect(await client.closed).toMatchObject({ code: RESTART });
  } finally {
    await patient.stop();
  }
});
