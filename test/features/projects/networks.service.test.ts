import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeHeader } from '../../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createKey, createProject, GOOD } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

const [BASE, POLYGON, BASE_SEPOLIA] = ['eip155:8453', 'eip155:137', 'eip155:84532'];

type Terms = { accepts: { network: string }[] };

/** One server with live and test networks, and one with only a test network. */
let mixed: Server;
let testOnly: Server;

type Server = { app: TestApp; rest: Rest; alice: TestUser; pool: pg.Pool };

async function startServer(env: Record<string, string>): Promise<Server> {
  const app = await startTestApp({ env });
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  return { app, pool, rest: await openRest(app), alice: await app.user('alice', 'ENTERPRISE') };
}

beforeAll(async () => {
  mixed = await startServer({ NETWORKS: 'base,polygon,base-sepolia' });
  testOnly = await startServer({ NETWORK: 'base-sepolia' });
});
afterAll(async () => {
  for (const server of [mixed, testOnly]) {
    await server?.pool.end();
    await server?.app.stop();
  }
});

/** Returns the networks in a 402 response from a project's endpoint. */
async function offeredBy({ app, alice }: Server, project: { id: string; base: string }): Promise<string[]> {
  const { path } = await createEndpoint(alice, project.base);
  const response = await fetch(`${app.url}/gateway/${project.id}${path}`);
  expect(response.status).toBe(402);
  return decodeHeader<Terms>(response.headers.get('payment-required')).accepts.map(({ network }) => network);
}

describe("a project's mode", () => {
  test('is LIVE by default if the server serves a live network, and TEST otherwise', async () => {
    expect(await createProject(mixed.alice)).toMatchObject({ mode: 'LIVE', networks: [] });
    expect(await createProject(testOnly.alice)).toMatchObject({ mode: 'TEST', networks: [] });
  });

  test('determines which networks buyers can pay on', async () => {
    const live = await createProject(mixed.alice, { mode: 'LIVE' });
    const practice = await createProject(mixed.alice, { mode: 'TEST' });
    expect(await offeredBy(mixed, live)).toEqual([BASE, POLYGON]);
    expect(await offeredBy(mixed, practice)).toEqual([BASE_SEPOLIA]);
  });

  test('can only be one for which the server serves a network', async () => {
    const body = { ...GOOD.project, mode: 'LIVE' };
    const response = await testOnly.rest.send(testOnly.alice, 'POST', '/api/projects', { body });
    expect(response).toMatchObject({
      status: 422,
      body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/mode' }] },
    });
  });

  test('can never be changed', async () => {
    const project = await createProject(mixed.alice, { mode: 'TEST' });
    const response = await mixed.alice.rest('PATCH', project.base, { mode: 'LIVE' });
    expect(response.status).toBe(422);
    expect((await mixed.alice.rest('GET', project.base)).body).toMatchObject({ mode: 'TEST' });
  });

  test('determines the prefix of new API keys', async () => {
    const live = await createProject(mixed.alice, { mode: 'LIVE' });
    const practice = await createProject(mixed.alice, { mode: 'TEST' });
    expect((await createKey(mixed.alice, live.base)).key).toMatch(/^tg_live_/);
    expect((await createKey(mixed.alice, practice.base)).key).toMatch(/^tg_test_/);
    expect((await createKey(testOnly.alice, (await createProject(testOnly.alice)).base)).key).toMatch(/^tg_test_/);
  });

  test('is TEST on a server with only test networks, even for projects created before projects had a mode', async () => {
    const project = await createProject(testOnly.alice);
    const old = await createKey(testOnly.alice, project.base);
    // This is what a process still running the previous version writes.
    await testOnly.pool.query(`UPDATE "Project" SET "mode" = 'LIVE' WHERE "id" = $1`, [project.id]);
    const asKey = testOnly.app.caller(old.key);
    expect((await asKey.rest('GET', project.base)).body).toMatchObject({ mode: 'TEST' });
    expect(await offeredBy(testOnly, project)).toEqual([BASE_SEPOLIA]);
    expect((await createKey(testOnly.alice, project.base)).key).toMatch(/^tg_test_/);
  });
});

describe("a project's networks", () => {
  test('are offered in the order that the project lists them, and a change takes effect', async () => {
    const project = await createProject(mixed.alice, { networks: ['polygon', BASE!, POLYGON!] });
    expect(project).toMatchObject({ networks: [POLYGON, BASE] });
    expect(await offeredBy(mixed, project)).toEqual([POLYGON, BASE]);

    const changed = await mixed.alice.rest('PATCH', project.base, { networks: [BASE] });
    expect(changed.body).toMatchObject({ networks: [BASE] });
    const { body: page } = await mixed.alice.rest<{ data: { path: string }[] }>('GET', `${project.base}/endpoints`);
    const offer = async () => {
      const response = await fetch(`${mixed.app.url}/gateway/${project.id}${page.data[0]!.path}`);
      return decodeHeader<Terms>(response.headers.get('payment-required')).accepts.map(({ network }) => network);
    };
    await expect.poll(offer).toEqual([BASE]);
  });

  test.each([
    ['unknown', 'eip155:2'],
    ['for the other mode', BASE_SEPOLIA!],
    ['not served', 'eip155:43114'],
  ])("can't include a network that is %s", async (_reason, network) => {
    const body = { ...GOOD.project, networks: [BASE, network] };
    const created = await mixed.rest.send(mixed.alice, 'POST', '/api/projects', { body });
    const refusal = { status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/networks/1' }] } };
    expect(created).toMatchObject(refusal);
    const project = await createProject(mixed.alice);
    const changed = await mixed.rest.send(mixed.alice, 'PATCH', project.base, { body: { networks: [BASE, network] } });
    expect(changed).toMatchObject(refusal);
  });

  test("can't be changed by an API key, because they determine where the wallet is paid", async () => {
    const project = await createProject(mixed.alice);
    const key = mixed.app.caller((await createKey(mixed.alice, project.base)).key);
    const response = await mixed.rest.send(key, 'PATCH', project.base, { body: { networks: [POLYGON] } });
    expect(response).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await mixed.alice.rest('GET', project.base)).body).toMatchObject({ networks: [] });
  });

  test('close the endpoints when the server no longer serves them, instead of moving payments to another network', async () => {
    const project = await createProject(mixed.alice);
    const { path } = await createEndpoint(mixed.alice, project.base);
    await mixed.pool.query(`UPDATE "Project" SET "networks" = '{eip155:43114}' WHERE "id" = $1`, [project.id]);
    const response = await fetch(`${mixed.app.url}/gateway/${project.id}${path}`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'UNAVAILABLE', detail: expect.stringContaining('networks') });
  });

  test('are in the audit log, and so is the mode', async () => {
    const project = await createProject(mixed.alice, { networks: [POLYGON!] });
    await mixed.alice.rest('PATCH', project.base, { networks: [] });
    const { body } = await mixed.alice.rest<{ data: object[] }>('GET', `${project.base}/audit-log`);
    expect(body.data).toMatchObject([
      { action: 'project.updated', changes: { networks: [] }, previous: { networks: [POLYGON] } },
      { action: 'project.created', changes: { mode: 'LIVE', networks: [POLYGON] } },
    ]);
  });
});

test('at startup, a server with only test networks warns about projects that are stored as live ones', async () => {
  const lines: { msg: string; projects?: number }[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { databaseUrl, dataDir } = testOnly.app;
  const { id } = await createProject(testOnly.alice);
  await testOnly.pool.query(`UPDATE "Project" SET "mode" = 'LIVE' WHERE "id" = $1`, [id]);
  const { rows } = await testOnly.pool.query(`SELECT count(*)::int AS "count" FROM "Project" WHERE "mode" = 'LIVE'`);
  const again = await startTestApp({ databaseUrl, dataDir, log, env: { NETWORK: 'base-sepolia', ROLES: 'api' } });
  try {
    const warning = () => lines.find(({ msg }) => msg.startsWith('live projects are treated as test projects'));
    await expect.poll(warning).toMatchObject({ projects: expect.any(Number) });
    // The reserved project for deleted resources doesn't count.
    expect(warning()!.projects).toBe(rows[0].count - 1);
  } finally {
    await again.stop();
  }
});

test('the networks of the server are listed with their mode, preferred first', async () => {
  const { data } = await mixed.alice.graphql('{ paymentNetworks { network title mode x402V1Name asset } }');
  expect(data).toEqual({
    paymentNetworks: [
      { network: BASE, title: 'Base', mode: 'LIVE', x402V1Name: 'base', asset: 'USDC' },
      { network: POLYGON, title: 'Polygon', mode: 'LIVE', x402V1Name: 'polygon', asset: 'USDC' },
      { network: BASE_SEPOLIA, title: 'Base Sepolia', mode: 'TEST', x402V1Name: 'base-sepolia', asset: 'USDC' },
    ],
  });
});
