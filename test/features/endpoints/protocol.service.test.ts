import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject } from '../../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let project: string;
let base: string;

beforeAll(async () => {
  app = await startTestApp({});
  alice = await app.user('alice');
  ({ base: project } = await createProject(alice));
  base = `${project}/endpoints`;
});

afterAll(() => app?.stop());

type Endpoint = { id: string; protocol: string; methods: string[]; settlement: string; warnings: string[] };
let count = 0;
const create = (input: object) =>
  alice.rest<Endpoint>('POST', base, {
    path: `/path-${++count}`,
    upstreamUrl: 'https://api.example.com',
    priceUsd: '0.01',
    ...input,
  });
const change = (id: string, input: object) => alice.rest<Endpoint>('PATCH', `${base}/${id}`, input);
const refused = (pointer: string) => ({
  status: 422,
  body: { code: 'VALIDATION_FAILED', errors: [{ pointer, message: expect.stringContaining('MCP') }] },
});
const MCP = { protocol: 'MCP', methods: ['GET', 'POST', 'DELETE'], settlement: 'AFTER_RESPONSE' };

test('an endpoint is for an HTTP API unless its seller sets something else', async () => {
  expect((await create({})).body).toMatchObject({ protocol: 'HTTP', methods: ['GET', 'HEAD', 'POST'] });
  const { body } = await create({ protocol: 'MCP' });
  expect(body).toMatchObject({ ...MCP, warnings: [] });
  expect((await alice.rest('GET', `${base}/${body.id}`)).body).toMatchObject(MCP);
  expect((await change(body.id, { description: 'Weather' })).body).toMatchObject(MCP);
});

test('an MCP endpoint has the methods of its transport, which can be sent again but not changed', async () => {
  expect(await create({ protocol: 'MCP', methods: ['POST'] })).toMatchObject(refused('/methods'));
  const { body } = await create({ protocol: 'MCP', methods: ['DELETE', 'GET', 'POST'] });
  expect(body).toMatchObject(MCP);
  expect(await change(body.id, { methods: ['GET'] })).toMatchObject(refused('/methods'));
  expect((await change(body.id, { methods: body.methods })).body).toMatchObject(MCP);
});

test('an MCP endpoint settles after the response, so that calls that fail cost nothing', async () => {
  expect(await create({ protocol: 'MCP', settlement: 'BEFORE_REQUEST' })).toMatchObject(refused('/settlement'));
  const { body } = await create({ protocol: 'MCP' });
  expect(await change(body.id, { settlement: 'BEFORE_REQUEST' })).toMatchObject(refused('/settlement'));
  const { body: streaming } = await create({ settlement: 'BEFORE_REQUEST' });
  expect(await change(streaming.id, { protocol: 'MCP' })).toMatchObject(refused('/settlement'));
  expect((await change(streaming.id, { protocol: 'MCP', settlement: 'AFTER_RESPONSE' })).body).toMatchObject(MCP);
});

test('a changed protocol sets the default methods', async () => {
  const { body } = await create({ methods: ['PUT'] });
  expect((await change(body.id, { protocol: 'MCP' })).body).toMatchObject(MCP);
  expect((await change(body.id, { protocol: 'HTTP' })).body).toMatchObject({ methods: ['GET', 'HEAD', 'POST'] });
  await change(body.id, { protocol: 'MCP' });
  expect((await change(body.id, { protocol: 'HTTP', methods: ['PUT'] })).body).toMatchObject({ methods: ['PUT'] });
  expect((await change(body.id, { protocol: 'HTTP' })).body).toMatchObject({ methods: ['PUT'] });
});

test('an endpoint can’t become one for MCP if another endpoint at its path has one of the methods', async () => {
  const path = '/shared';
  await create({ path, methods: ['DELETE'] });
  const { body } = await create({ path, methods: ['GET'] });
  const conflict = {
    status: 409,
    body: { errors: [{ pointer: '/path' }, { pointer: '/methods', message: expect.stringContaining('DELETE') }] },
  };
  expect(await change(body.id, { protocol: 'MCP' })).toMatchObject(conflict);
  expect(await create({ path, protocol: 'MCP' })).toMatchObject({ status: 409 });
});

test('an unknown protocol is refused', async () => {
  expect((await create({ protocol: 'GRPC' })).status).toBe(422);
});

test('a stream as the media type of an MCP endpoint is no problem', async () => {
  expect((await create({ protocol: 'MCP', mimeType: 'text/event-stream' })).body.warnings).toEqual([]);
});

test('copies and the audit log have the protocol', async () => {
  const { body } = await create({ path: '/copied', protocol: 'MCP' });
  await change(body.id, { protocol: 'HTTP' });
  const log = await alice.rest<{ items: { changes: unknown; previous: unknown }[] }>(
    'GET',
    `${project}/audit-log?limit=2`,
  );
  expect(JSON.stringify(log.body)).toMatch(/"protocol":"MCP"/);
  expect(JSON.stringify(log.body)).toMatch(/"protocol":"HTTP"/);
  await change(body.id, { protocol: 'MCP' });
  const walletAddress = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
  const copy = await alice.rest<{ id: string }>('POST', `${project}/copy`, {
    name: 'Copy',
    walletAddress,
    mode: 'TEST',
  });
  const copied = await alice.rest('GET', `/api/projects/${copy.body.id}/endpoints?pathPrefix=/copied`);
  expect(JSON.stringify(copied.body)).toMatch(/"protocol":"MCP"/);
});
