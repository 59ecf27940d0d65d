import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_API_KEYS_PER_PROJECT as MAX } from '../../../src/features/api-keys/quota.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertApiKeys } from '../../support/fill.ts';
import { createProject, type Resource } from '../../support/resources.ts';

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

const LIMIT_REACHED = { status: 403, body: { code: 'API_KEY_LIMIT_REACHED' } };
const post = (base: string, fields: object = {}) =>
  alice.rest<Resource>('POST', `${base}/keys`, { name: 'Key', ...fields });

async function projectWith(count: number) {
  const project = await createProject(alice);
  return { ...project, keyIds: await insertApiKeys(pool, project.id, count) };
}

describe('the limit of 100 API keys per project', () => {
  test('allows another key after one is revoked, on every tier', async () => {
    const { base, keyIds } = await projectWith(MAX - 1);
    expect((await post(base)).status).toBe(201);
    const refused = await post(base);
    expect(refused).toMatchObject(LIMIT_REACHED);
    expect(refused.body.detail).toBe(
      'A project can have up to 100 API keys, and this one already has that many. Revoke one.',
    );
    expect((await alice.rest('DELETE', `${base}/keys/${keyIds[0]}`)).status).toBe(204);
    expect((await post(base)).status).toBe(201);
    expect(await post(base)).toMatchObject(LIMIT_REACHED);
  });

  test('applies even if several API keys are created at the same time', async () => {
    const { base } = await projectWith(MAX - 5);
    const responses = await Promise.all(Array.from({ length: 12 }, () => post(base)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(201), ...Array(7).fill(403)]);
  });

  test('applies in GraphQL, where each mutation in a document counts', async () => {
    const { id } = await projectWith(MAX - 1);
    const field = `createApiKey(input: { projectId: "${id}", name: "Key" }) { apiKey { id } }`;
    const { errors } = await alice.graphql(`mutation { a: ${field} b: ${field} }`);
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['API_KEY_LIMIT_REACHED']);
  });

  test("doesn't count API keys that have expired", async () => {
    const { base, id } = await projectWith(MAX);
    await pool.query(`UPDATE "ApiKey" SET "expiresAt" = now() - interval '1 minute' WHERE "projectId" = $1`, [id]);
    expect((await post(base)).status).toBe(201);
  });
});
