import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { invite, join, person } from '../../support/members.ts';
import { createProject } from '../../support/resources.ts';

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let base: string;
let people = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  alice = await person(app, 'alice', 'ENTERPRISE');
  base = (await createProject(alice, { name: 'Weather' })).base;
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

const someone = (name: string) => person(app, `${name}${++people}`, 'ENTERPRISE');
const answer = (user: TestUser, id: string, how: 'accept' | 'decline' = 'accept') =>
  user.rest('POST', `/api/invitations/${id}/${how}`);
const received = async (user: TestUser) =>
  (await user.rest<{ data: { id: string }[] }>('GET', '/api/invitations')).body.data;

test('the invited person sees who invited them to which project, and becomes a member by accepting', async () => {
  const bob = await someone('bob');
  const { id } = await invite(alice, base, bob, 'DEVELOPER');
  expect(await received(bob)).toMatchObject([
    { id, projectName: 'Weather', role: 'DEVELOPER', invitedByName: 'alice@example.com' },
  ]);
  expect((await bob.rest('GET', base)).status).toBe(404);
  expect(await answer(bob, id)).toMatchObject({ status: 200, body: { name: bob.subject, role: 'DEVELOPER' } });
  expect((await bob.rest('GET', base)).status).toBe(200);
  expect(await received(bob)).toEqual([]);
});

test('a declined invitation is gone, and the person can be invited again', async () => {
  const bob = await someone('bob');
  const { id } = await invite(alice, base, bob, 'VIEWER');
  expect((await answer(bob, id, 'decline')).status).toBe(200);
  expect((await answer(bob, id)).status).toBe(404);
  expect((await alice.rest('GET', `${base}/invitations/${id}`)).status).toBe(404);
  await invite(alice, base, bob, 'VIEWER');
});

describe('an invitation', () => {
  test('can be answered by someone with the address, and not by others who know its ID', async () => {
    const [bob, mallory] = [await someone('bob'), await someone('mallory')];
    const { id } = await invite(alice, base, bob, 'ADMIN');
    for (const how of ['accept', 'decline'] as const) expect((await answer(mallory, id, how)).status).toBe(404);
    expect(await received(mallory)).toEqual([]);
    expect((await mallory.graphql(`{ node(id: "${id}") { id } }`)).data).toEqual({ node: null });
    expect((await answer(bob, id)).status).toBe(200);
  });

  test('can be answered only if the identity provider says that the address is verified', async () => {
    const { id } = await invite(alice, base, 'unverified@example.com', 'ADMIN');
    const without = await app.user('unverified');
    expect(await received(without)).toEqual([]);
    expect((await answer(without, id)).status).toBe(404);
  });

  test('can be answered only once, even by two requests at the same time', async () => {
    const bob = await someone('bob');
    const { id } = await invite(alice, base, bob, 'VIEWER');
    const statuses = await Promise.all([1, 2, 3].map(async () => (await answer(bob, id)).status));
    expect(statuses.sort()).toEqual([200, 404, 404]);
  });

  test("can't be accepted again by a member who was removed", async () => {
    const bob = await someone('bob');
    const { id } = await invite(alice, base, bob, 'ADMIN');
    const { body: member } = await bob.rest<{ id: string }>('POST', `/api/invitations/${id}/accept`);
    await alice.rest('DELETE', `${base}/members/${member.id}`);
    expect((await answer(bob, id)).status).toBe(404);
    expect((await bob.rest('GET', base)).status).toBe(404);
  });

  test('can be answered only until it expires', async () => {
    const bob = await someone('bob');
    const { id } = await invite(alice, base, bob, 'VIEWER');
    await sql.query(`UPDATE "Invitation" SET "expiresAt" = now() - interval '1 second' WHERE "id" = $1`, [id]);
    expect(await received(bob)).toEqual([]);
    expect((await answer(bob, id)).status).toBe(404);
    // An expired invitation doesn't keep the person from being invited again.
    await invite(alice, base, bob, 'VIEWER');
  });

  test('can be answered only until it is revoked', async () => {
    const bob = await someone('bob');
    const { id } = await invite(alice, base, bob, 'VIEWER');
    expect((await alice.rest('DELETE', `${base}/invitations/${id}`)).status).toBe(204);
    expect((await answer(bob, id)).status).toBe(404);
  });
});

test('addresses are compared without regard to case, and lookalikes in other alphabets are rejected', async () => {
  const bob = await someone('bob');
  const { id, email } = await invite(alice, base, `${bob.subject.toUpperCase()}@Example.COM`, 'VIEWER');
  expect(email).toBe(`${bob.subject}@example.com`);
  expect(await received(bob)).toMatchObject([{ id }]);
  // The Kelvin sign becomes a k in lowercase.
  for (const lookalike of ['\u212Aevin@example.com', 'bоb@example.com', 'bob@exämple.com', ' bob@example.com', 'bob']) {
    const { status } = await alice.rest('POST', `${base}/invitations`, { email: lookalike, role: 'VIEWER' });
    expect([lookalike, status]).toEqual([lookalike, 422]);
  }
});

test('a member who changes their address stays a member, and the next owner of the address gets no access', async () => {
  const bob = await someone('bob');
  await join(alice, base, bob, 'VIEWER');
  const heir = await app.user(`heir${people}`, 'PRO', `${bob.subject}@example.com`);
  const renamed = await app.user(bob.subject, 'PRO', 'renamed@example.com');
  expect((await heir.rest('GET', base)).status).toBe(404);
  expect((await renamed.rest('GET', base)).status).toBe(200);
});

test('the response is the same whether or not someone with the address has an account', async () => {
  const bob = await someone('bob');
  await bob.rest('GET', '/api/projects');
  const known = await invite(alice, base, bob, 'VIEWER');
  const unknown = await invite(alice, base, 'nobody@example.com', 'VIEWER');
  expect(Object.keys(known)).toEqual(Object.keys(unknown));
});

test('an invitation never changes the role of a member or owner', async () => {
  const { base: other } = await createProject(alice);
  const bob = await someone('bob');
  await join(alice, other, bob, 'VIEWER');
  const again = await alice.rest('POST', `${other}/invitations`, {
    email: `${bob.subject}@example.com`,
    role: 'ADMIN',
  });
  expect(again).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
  // The same person has a second address.
  const { id } = await invite(alice, other, `second-${bob.subject}@example.com`, 'ADMIN');
  const withSecond = await app.user(bob.subject, 'ENTERPRISE', `second-${bob.subject}@example.com`);
  expect(await answer(withSecond, id)).toMatchObject({ status: 409 });
  const { body } = await alice.rest<{ data: { role: string }[] }>('GET', `${other}/members`);
  expect(body.data.map(({ role }) => role)).toEqual(['VIEWER']);
  const own = await alice.rest('POST', `${other}/invitations`, { email: 'alice@example.com', role: 'VIEWER' });
  expect(own.status).toBe(409);
});

test('a second open invitation to an address is a conflict, even if both are sent at the same time', async () => {
  const { base: other } = await createProject(alice);
  const send = () => alice.rest('POST', `${other}/invitations`, { email: 'twice@example.com', role: 'VIEWER' });
  const statuses = (await Promise.all([send(), send(), send()])).map(({ status }) => status);
  expect(statuses.sort()).toEqual([201, 409, 409]);
});

test.each([
  ['is removed', (member: string) => alice.rest('DELETE', member)],
  ['is no longer an admin', (member: string) => alice.rest('PATCH', member, { role: 'VIEWER' })],
])('when someone %s, their open invitations are revoked', async (_what, change) => {
  const { base: other } = await createProject(alice);
  const [bob, accomplice] = [await someone('bob'), await someone('accomplice')];
  const member = await join(alice, other, bob, 'ADMIN');
  const { id } = await invite(bob, other, accomplice, 'ADMIN');
  const { id: kept } = await invite(alice, other, 'guest@example.com', 'VIEWER');
  await change(`${other}/members/${member.id}`);
  expect((await answer(accomplice, id)).status).toBe(404);
  const { body } = await alice.rest<{ data: { id: string }[] }>('GET', `${other}/invitations`);
  expect(body.data.map((one) => one.id)).toEqual([kept]);
});

test('a project and an account can send only a limited number of invitations a day, even if they are revoked', async () => {
  const carol = await someone('carol');
  const { base: other, id: projectId } = await createProject(carol);
  const { rows } = await sql.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [projectId]);
  const fill = (project: string, inviter: string, count: number) =>
    sql.query(
      `INSERT INTO "Invitation" ("id", "projectId", "email", "role", "status", "invitedById", "invitedByName", "expiresAt")
       SELECT new_id('inv'), $1, n || '@x.example', 'VIEWER', 'REVOKED', $2, 'x', now() FROM generate_series(1, $3) AS n`,
      [project, inviter, count],
    );
  await fill(projectId, 'usr_somebody', 50);
  const body = { email: 'one-more@example.com', role: 'VIEWER' };
  const flooded = await carol.rest('POST', `${other}/invitations`, body);
  expect(flooded).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  expect(Number(flooded.headers.get('retry-after'))).toBeGreaterThan(86_000);
  const second = await createProject(carol);
  expect((await carol.rest('POST', `${second.base}/invitations`, body)).status).toBe(201);
  const full = await createProject(carol);
  await fill(full.id, rows[0].userId, 100);
  const refused = () => carol.rest('POST', `${second.base}/invitations`, { ...body, email: 'b@example.com' });
  expect((await refused()).status).toBe(429);
  // Deleting the project doesn't reset the account's limit.
  await carol.rest('DELETE', full.base);
  expect((await refused()).status).toBe(429);
});
