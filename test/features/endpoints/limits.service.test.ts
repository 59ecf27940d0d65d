import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_ENDPOINTS_PER_PROJECT as MAX } from '../../../src/features/endpoints/quota.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertEndpoints } from '../../support/fill.ts';
import {
  createEndpoint,
  createKey,
  createProject,
  EVERY_SCOPE,
  GOOD,
  type Resource,
  WALLET,
} from '../../support/resources.ts';
import { apiWith, getting } from '../imports/documents.ts';

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

const LIMIT_REACHED = { status: 403, body: { code: 'ENDPOINT_LIMIT_REACHED' } };
const post = (user: TestUser, base: string, path: string) =>
  user.rest<Resource>('POST', `${base}/endpoints`, { ...GOOD.endpoint, path });

async function projectWith(count: number) {
  const project = await createProject(alice);
  return { ...project, endpointIds: await insertEndpoints(pool, project.id, count) };
}

async function countIn(projectId: string): Promise<number> {
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM "Endpoint" WHERE "projectId" = $1', [projectId]);
  return rows[0].n;
}

describe('the limit of 1,000 endpoints per project', () => {
  test('allows another endpoint after one is deleted, on every tier', async () => {
    const { base, id } = await projectWith(MAX - 1);
    expect((await post(alice, base, '/last')).status).toBe(201);
    const refused = await post(alice, base, '/excess');
    expect(refused).toMatchObject(LIMIT_REACHED);
    expect(refused.body.detail).toBe(
      'A project can have up to 1,000 endpoints, and this one already has that many. Delete one, or create another project.',
    );
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints?limit=1`);
    expect((await alice.rest('DELETE', `${base}/endpoints/${body.data[0]!.id}`)).status).toBe(204);
    expect((await post(alice, base, '/next')).status).toBe(201);
    expect(await post(alice, base, '/excess')).toMatchObject(LIMIT_REACHED);
    expect(await countIn(id)).toBe(MAX);
  });

  test('applies even if a user and an API key create several endpoints at the same time', async () => {
    const { base, id } = await projectWith(MAX - 5);
    const key = app.caller((await createKey(alice, base, EVERY_SCOPE)).key);
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => post(index % 2 ? alice : key, base, `/at-once/${index}`)),
    );
    expect(responses.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(201), ...Array(7).fill(403)]);
    expect(await countIn(id)).toBe(MAX);
  });

  test('applies in GraphQL, where each mutation in a document counts', async () => {
    const { id } = await projectWith(MAX - 1);
    const field = (path: string) =>
      `createEndpoint(input: { projectId: "${id}", path: "${path}", upstreamUrl: "https://api.example.com", priceUsd: "1" }) { endpoint { id } }`;
    const { errors } = await alice.graphql(`mutation { a: ${field('/a')} b: ${field('/b')} }`);
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['ENDPOINT_LIMIT_REACHED']);
  });

  test('applies to an import, which still updates existing endpoints', async () => {
    const { base } = await projectWith(MAX - 1);
    const known = await createEndpoint(alice, base, { path: '/known', upstreamUrl: 'https://api.example.com/known' });
    const document = apiWith({ '/new': getting('New'), '/known': getting('Changed') });
    const { status, body } = await alice.rest<{ results: Resource[] }>('POST', `${base}/endpoints/import`, {
      document,
      priceUsd: '0.01',
      items: [{ path: '/new' }, { path: '/known' }],
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.results).toMatchObject([
      { path: '/new', status: 'FAILED', error: { code: 'ENDPOINT_LIMIT_REACHED' } },
      { path: '/known', status: 'UPDATED', endpointId: known.id },
    ]);
  });

  test('allows a project over the limit to change and delete endpoints, but not to add or copy them', async () => {
    const { base, id, endpointIds } = await projectWith(MAX + 1);
    const path = `${base}/endpoints/${endpointIds[0]}`;
    expect((await alice.rest('PATCH', path, { priceUsd: '0.02' })).status).toBe(200);
    const copy = await alice.rest<Resource>('POST', `${base}/copy`, {
      name: 'Copy',
      mode: 'TEST',
      walletAddress: WALLET,
    });
    expect(copy).toMatchObject(LIMIT_REACHED);
    expect(copy.body.detail).toBe(
      'A project can have up to 1,000 endpoints, and the copy would have more. Delete some.',
    );
    expect((await alice.rest('DELETE', path)).status).toBe(204);
    expect(await post(alice, base, '/excess')).toMatchObject(LIMIT_REACHED);
    expect(await countIn(id)).toBe(MAX);
  });
});
