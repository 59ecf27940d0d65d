import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_PROJECTS_PER_ACCOUNT as MAX } from '../../../src/features/projects/quota.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertProjects } from '../../support/fill.ts';
import { join, person } from '../../support/members.ts';
import { createProject, GOOD, type Resource, WALLET } from '../../support/resources.ts';

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let people = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', GATEWAY_DOMAIN: 'sells.dev' } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await person(app, 'alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

const LIMIT_REACHED = {
  status: 403,
  body: {
    code: 'PROJECT_LIMIT_REACHED',
    detail: 'An account can have up to 200 projects, and yours already has that many. Delete one.',
  },
};
const post = (user: TestUser) => user.rest<Resource>('POST', '/api/projects', GOOD.project);
const copy = (user: TestUser, base: string) =>
  user.rest<Resource>('POST', `${base}/copy`, { name: 'Copy', mode: 'TEST', walletAddress: WALLET });

/** Someone with this many projects. `base` is the first one's REST path. */
async function ownerOf(count: number) {
  const user = await person(app, `owner${++people}`, 'ENTERPRISE');
  const { base, id } = await createProject(user);
  const ids = await insertProjects(pool, id, count - 1);
  return { user, base, id, other: ids[0]! };
}

/** Offers a new project of Alice's to someone. Returns the path to accept the offer. */
async function offerTo(user: TestUser): Promise<string> {
  const { base } = await createProject(alice);
  const offer = await alice.rest<Resource>('POST', `${base}/transfer`, { email: `${user.subject}@example.com` });
  return `/api/transfers/${offer.body.id}/accept`;
}

async function countOf(projectId: string): Promise<number> {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS n FROM "Project" WHERE "userId" = (SELECT "userId" FROM "Project" WHERE "id" = $1)`,
    [projectId],
  );
  return rows[0].n;
}

describe('the limit of 200 projects per account', () => {
  test('allows another project after one is deleted, on every tier', async () => {
    const { user, base, other } = await ownerOf(MAX - 1);
    expect((await post(user)).status).toBe(201);
    expect(await post(user)).toMatchObject(LIMIT_REACHED);
    const { errors } = await user.graphql(
      `mutation { createProject(input: { name: "Shop", walletAddress: "${WALLET}" }) { project { id } } }`,
    );
    expect(errors).toMatchObject([{ extensions: { code: 'PROJECT_LIMIT_REACHED' } }]);
    expect((await user.rest('PATCH', base, { name: 'Renamed' })).status).toBe(200);
    expect((await user.rest('DELETE', `/api/projects/${other}`)).status).toBe(204);
    expect((await post(user)).status).toBe(201);
  });

  test('counts copies', async () => {
    const { user, base, id } = await ownerOf(MAX - 1);
    expect((await copy(user, base)).status).toBe(200);
    expect(await copy(user, base)).toMatchObject(LIMIT_REACHED);
    expect(await countOf(id)).toBe(MAX);
  });

  test('counts projects that the account accepts, and an offer stays open until there is room', async () => {
    const { user, id, other } = await ownerOf(MAX);
    const accept = await offerTo(user);
    expect(await user.rest('POST', accept)).toMatchObject(LIMIT_REACHED);
    expect(await countOf(id)).toBe(MAX);
    expect((await user.rest('DELETE', `/api/projects/${other}`)).status).toBe(204);
    expect((await user.rest('POST', accept)).status).toBe(200);
  });

  test('doesn’t count other people’s shared projects', async () => {
    const { user } = await ownerOf(MAX);
    const shared = await createProject(alice);
    await join(alice, shared.base, user, 'ADMIN');
    expect((await user.rest('GET', shared.base)).status).toBe(200);
    const bob = await person(app, 'bob', 'STARTER');
    await join(alice, shared.base, bob, 'DEVELOPER');
    expect((await post(bob)).status).toBe(201);
  });

  test('applies even if an account creates, copies, and accepts several projects at the same time', async () => {
    const { user, base, id } = await ownerOf(MAX - 3);
    const accepts = [await offerTo(user), await offerTo(user), await offerTo(user)];
    const responses = await Promise.all(
      accepts.flatMap((accept) => [post(user), copy(user, base), user.rest<Resource>('POST', accept)]),
    );
    const isDone = responses.map(({ status }) => status === 200 || status === 201);
    expect(isDone.filter(Boolean)).toHaveLength(3);
    expect(responses.filter((_answer, index) => !isDone[index])).toMatchObject(Array(6).fill(LIMIT_REACHED));
    expect(await countOf(id)).toBe(MAX);
  });

  test('doesn’t take projects away from an account that has more', async () => {
    const { user, base } = await ownerOf(MAX + 1);
    expect((await user.rest('PATCH', base, { name: 'Kept' })).status).toBe(200);
    expect((await user.rest('DELETE', base)).status).toBe(204);
    expect(await post(user)).toMatchObject(LIMIT_REACHED);
  });
});
