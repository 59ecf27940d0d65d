import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import {
  createConnector,
  createKey,
  createProject,
  createWebhook,
  GOOD,
  type Resource,
} from '../../support/resources.ts';

let app: TestApp;
let pool: pg.Pool;
beforeAll(async () => {
  app = await startTestApp();
  pool = new pg.Pool({ connectionString: app.databaseUrl });
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

const LIMIT_REACHED = { status: 403, body: { code: 'WEBHOOK_LIMIT_REACHED' } };
const post = (user: TestUser, base: string) => user.rest<Resource>('POST', `${base}/webhooks`, GOOD.webhook);

/** Returns the same user with a token for a different tier. */
const movedTo = async (subject: string, tier: 'STARTER') => app.caller(await app.issuer.sign({ subject, tier }));

describe('the webhook limit', () => {
  test('allows ten per project on the STARTER tier, and one more after a deletion', async () => {
    const starter = await app.user('starter', 'STARTER');
    const { base } = await createProject(starter);
    const first = await createWebhook(starter, base);
    for (let count = 1; count < 10; count++) await createWebhook(starter, base);
    const refused = await post(starter, base);
    expect(refused).toMatchObject(LIMIT_REACHED);
    expect(refused.body.detail).toBe(
      'Your tier includes 10 webhooks per project, and this project already has that many. Delete one or upgrade to a higher tier.',
    );
    await starter.rest('DELETE', `${base}/webhooks/${first.id}`);
    expect((await post(starter, base)).status).toBe(201);
    expect(await post(starter, base)).toMatchObject(LIMIT_REACHED);
    const another = await createProject(starter);
    expect((await post(starter, another.base)).status).toBe(201);
  });

  test('applies to concurrent requests from a user and an API key', async () => {
    const racer = await app.user('racer', 'STARTER');
    const { base, id } = await createProject(racer);
    const key = app.caller((await createKey(racer, base)).key);
    const responses = await Promise.all(Array.from({ length: 15 }, (_, index) => post(index % 2 ? racer : key, base)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(201), ...Array(5).fill(403)]);
    const { rows } = await pool.query(`SELECT count(*)::int AS n FROM "Webhook" WHERE "projectId" = $1`, [id]);
    expect(rows).toEqual([{ n: 10 }]);
  });

  test('applies to aliases of one mutation', async () => {
    const starter = await app.user('aliases', 'STARTER');
    const { id } = await createProject(starter);
    const field = `createWebhook(input: { projectId: "${id}", url: "https://hooks.example.com/in", eventTypes: ALL }) { webhook { id } }`;
    const { errors } = await starter.graphql(
      `mutation { ${Array.from({ length: 12 }, (_, index) => `w${index}: ${field}`).join(' ')} }`,
    );
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(Array(2).fill('WEBHOOK_LIMIT_REACHED'));
  });

  test('drops with the tier, but existing webhooks stay and can be changed', async () => {
    const pro = await app.user('moved', 'PRO');
    const { base } = await createProject(pro);
    const webhooks = [];
    for (let count = 0; count < 12; count++) webhooks.push(await createWebhook(pro, base));
    const starter = await movedTo('moved', 'STARTER');
    expect(await post(starter, base)).toMatchObject(LIMIT_REACHED);
    const path = `${base}/webhooks/${webhooks[11]!.id}`;
    expect((await starter.rest('PATCH', path, { description: 'Kept' })).status).toBe(200);
    const { body } = await starter.rest<{ data: Resource[] }>('GET', `${base}/webhooks?limit=100`);
    expect(JSON.stringify(body).match(/"wh_/g)).toHaveLength(12);
  });

  test('can be read by the account', async () => {
    const query = '{ viewer { limits { maxWebhooksPerProject } } }';
    const read = async (tier: 'STARTER' | 'PRO' | 'BUSINESS' | 'ENTERPRISE') => {
      const user = await app.user(`reads-${tier}`, tier);
      const { data } = await user.graphql<{ viewer: { limits: { maxWebhooksPerProject: number | null } } }>(query);
      return data!.viewer.limits.maxWebhooksPerProject;
    };
    expect([await read('STARTER'), await read('PRO'), await read('BUSINESS'), await read('ENTERPRISE')]).toEqual([
      ...[10, 50, 200],
      null,
    ]);
  });
});

describe('what remains of a project owner’s limits', () => {
  type Left = { remainingWebhooks: number | null; remainingConnectors: number | null };
  async function left(user: TestUser, id: string): Promise<Left> {
    const query = 'query ($id: ID!) { project(id: $id) { remainingWebhooks remainingConnectors } }';
    return (await user.graphql<{ project: Left }>(query, { id })).data!.project;
  }

  test('is shown for webhooks in the project and connectors in all of the owner’s projects, even to members', async () => {
    const [owner, guest] = [await person(app, 'pro-owner', 'PRO'), await person(app, 'free-guest', 'STARTER')];
    const [one, other] = [await createProject(owner), await createProject(owner)];
    await join(owner, one.base, guest, 'DEVELOPER');
    expect(await left(owner, one.id)).toEqual({ remainingWebhooks: 50, remainingConnectors: 5 });
    await createWebhook(owner, one.base);
    await createConnector(owner, other.base);
    for (const user of [owner, guest]) {
      expect(await left(user, one.id)).toEqual({ remainingWebhooks: 49, remainingConnectors: 4 });
    }
    expect(await left(owner, other.id)).toEqual({ remainingWebhooks: 50, remainingConnectors: 4 });
  });

  test('is never negative, and null if there is no limit', async () => {
    const owner = await person(app, 'shrinking', 'PRO');
    const { base, id } = await createProject(owner);
    await createConnector(owner, base);
    expect((await left(await movedTo('shrinking', 'STARTER'), id)).remainingConnectors).toBe(0);
    const rich = await person(app, 'limitless', 'ENTERPRISE');
    const project = await createProject(rich);
    expect(await left(rich, project.id)).toEqual({ remainingWebhooks: null, remainingConnectors: null });
  });
});

test('webhooks to one host have the same origin, no matter how their URLs are written', async () => {
  const user = await app.user('speller');
  const { base } = await createProject(user);
  const originOf = async (id: string) =>
    (await pool.query('SELECT "origin" FROM "Webhook" WHERE "id" = $1', [id])).rows[0].origin;
  for (const url of [
    'https://hooks.example.com/a',
    'HTTPS://Hooks.Example.COM:443/b',
    'https://%68ooks.example.com?c',
  ]) {
    const { id } = await createWebhook(user, base, { url });
    expect(await originOf(id)).toBe('https://hooks.example.com');
    await user.rest('PATCH', `${base}/webhooks/${id}`, { url: 'https://Other.example.com:8443/in' });
    expect(await originOf(id)).toBe('https://other.example.com:8443');
  }
});
