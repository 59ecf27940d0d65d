import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, GOOD, type Resource } from '../../support/resources.ts';

type Problem = { code: string; detail: string; errors: { pointer: string; message: string }[] };

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp();
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

const add = (fields: object) =>
  alice.rest<Resource & Problem>('POST', `${base}/endpoints`, { ...GOOD.endpoint, ...fields });
const change = (id: string, fields: object) =>
  alice.rest<Resource & Problem>('PATCH', `${base}/endpoints/${id}`, fields);
const count = async () => (await pool.query('SELECT FROM "Endpoint" WHERE "projectId" = $1', [projectId])).rowCount;

/** Writes a row the way processes did before endpoints had methods. */
function insertAsBefore(path: string) {
  return pool.query(
    `INSERT INTO "Endpoint" (id, "projectId", path, "upstreamUrl", "priceAtomic") VALUES ($1, $2, $3, 'https://a.example', 1)`,
    [newId('Endpoint'), projectId, path],
  );
}

describe("an endpoint's methods", () => {
  test('are GET, HEAD, and POST unless others are given, and can be changed', async () => {
    const { id, methods } = await createEndpoint(alice, base);
    expect(methods).toEqual(['GET', 'HEAD', 'POST']);
    expect((await change(id, { methods: ['delete', 'GET', 'get'] })).body.methods).toEqual(['GET', 'DELETE']);
    expect((await change(id, { description: 'x' })).body.methods).toEqual(['GET', 'DELETE']);
    const { data } = await alice.graphql<{ project: { auditLog: { nodes: object[] } } }>(
      'query ($id: ID!) { project(id: $id) { auditLog(first: 2) { nodes { changes previous } } } }',
      { id: projectId },
    );
    expect(data!.project.auditLog.nodes).toMatchObject([
      { changes: { description: 'x' } },
      { changes: { methods: ['GET', 'DELETE'] }, previous: { methods: ['GET', 'HEAD', 'POST'] } },
    ]);
  });

  test.each([
    [['GET', 'TRACE'], '/methods/1'],
    [['OPTIONS'], '/methods/0'],
    [[1], '/methods/0'],
    [[], '/methods'],
    [null, '/methods'],
    ['GET', '/methods'],
  ])('cannot be %j', async (methods, pointer) => {
    const { id } = await createEndpoint(alice, base);
    for (const { status, body } of [await add({ path: '/x', methods }), await change(id, { methods })]) {
      expect({ status, code: body.code, errors: body.errors }).toMatchObject({
        status: 422,
        code: 'VALIDATION_FAILED',
        errors: [{ pointer }],
      });
    }
  });

  test('are all methods for an endpoint that was stored before they could be chosen, until they are changed', async () => {
    await insertAsBefore('/old');
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints`);
    const [old] = body.data;
    expect(old!.methods).toEqual(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
    expect((await change(old!.id, { description: 'x' })).body.methods).toEqual(old!.methods);
    expect((await change(old!.id, { methods: ['PUT'] })).body.methods).toEqual(['PUT']);
  });
});

describe('two endpoints with the same path', () => {
  test('are allowed if they share no method', async () => {
    expect((await add({ path: '/a/:b', methods: ['GET', 'HEAD'] })).status).toBe(201);
    expect((await add({ path: '/a/:c', methods: ['POST'], priceUsd: '5' })).status).toBe(201);
    expect((await add({ path: '/a/:b', methods: ['PUT', 'PATCH', 'DELETE'] })).status).toBe(201);
  });

  test('conflict if they share a method, and the error names the other endpoint and the methods', async () => {
    await add({ path: '/a/:b', methods: ['DELETE'] });
    const { id } = (await add({ path: '/a/:b', methods: ['GET', 'PUT', 'PATCH'] })).body;
    const { status, body } = await add({ path: '/a/:other', methods: ['PATCH', 'PUT', 'POST'] });
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'CONFLICT' });
    expect(body.errors).toEqual([
      { pointer: '/path', message: `Already used by another endpoint in the project (/a/:b, ${id}).` },
      { pointer: '/methods', message: 'That endpoint already serves PUT, PATCH.' },
    ]);
    expect(body.detail).toContain(`(/a/:b, ${id})`);
    expect(await count()).toBe(2);
  });

  test('cannot be changed so that they share a method', async () => {
    const { id } = (await add({ path: '/a', methods: ['GET'] })).body;
    const other = (await add({ path: '/a', methods: ['POST'] })).body;
    const elsewhere = (await add({ path: '/b', methods: ['POST'] })).body;
    const refused = [await change(id, { methods: ['GET', 'POST'] }), await change(elsewhere.id, { path: '/a' })];
    for (const { status, body } of refused) {
      expect(status).toBe(409);
      expect(body.errors).toMatchObject([
        { pointer: '/path', message: expect.stringContaining(other.id) },
        { pointer: '/methods', message: 'That endpoint already serves POST.' },
      ]);
    }
    expect((await change(elsewhere.id, { path: '/a', methods: ['PUT'] })).status).toBe(200);
    expect((await change(id, { methods: ['GET', 'HEAD'] })).status).toBe(200);
  });

  test('conflict if one of them serves every method', async () => {
    await insertAsBefore('/old/:id');
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await add({ path: '/old/:x', methods: [method] })).status, method).toBe(409);
    await add({ path: '/new', methods: ['DELETE'] });
    await expect(insertAsBefore('/new')).rejects.toMatchObject({ code: '23505' });
    await expect(insertAsBefore('/old/:y')).rejects.toMatchObject({ code: '23505' });
    expect(await count()).toBe(2);
  });

  test('do not conflict in different projects', async () => {
    await add({ path: '/a' });
    const other = await createProject(alice);
    await createEndpoint(alice, other.base, { path: '/a' });
  });

  test('are created by exactly one of twenty concurrent requests that all share a method', async () => {
    const others = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => add({ path: '/wanted', methods: [others[index % 5]!, 'PATCH'] })),
    );
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, ...Array(19).fill(409)]);
    expect(await count()).toBe(1);
  });

  test('are all created by concurrent requests that share no method', async () => {
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
    const responses = await Promise.all(methods.map((method) => add({ path: '/split', methods: [method] })));
    expect(responses.map(({ status }) => status)).toEqual(Array(6).fill(201));
  });
});
