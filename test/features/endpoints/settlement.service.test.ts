import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';

let app: TestApp;
let alice: TestUser;
let base: string;

beforeAll(async () => {
  app = await startTestApp({});
  alice = await app.user('alice');
  const walletAddress = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
  const { body } = await alice.rest<{ id: string }>('POST', '/api/projects', { name: 'Shop', walletAddress });
  base = `/api/projects/${body.id}/endpoints`;
});

afterAll(() => app?.stop());

type Endpoint = { id: string; settlement: string; timeoutSeconds: number | null; warnings: string[] };
let count = 0;
const create = (input: object) =>
  alice.rest<Endpoint>('POST', base, {
    path: `/path-${++count}`,
    upstreamUrl: 'https://api.example.com',
    priceUsd: '0.01',
    ...input,
  });
const change = (id: string, input: object) => alice.rest<Endpoint>('PATCH', `${base}/${id}`, input);
const REFUSED = {
  status: 422,
  body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/timeoutSeconds', message: expect.any(String) }] },
};

test('an endpoint settles after the response within the default time limit unless its seller sets something else', async () => {
  expect((await create({})).body).toMatchObject({ settlement: 'AFTER_RESPONSE', timeoutSeconds: null });
  const made = await create({ settlement: 'BEFORE_REQUEST', timeoutSeconds: 600 });
  expect(made.body).toMatchObject({ settlement: 'BEFORE_REQUEST', timeoutSeconds: 600 });
  const { body } = await alice.rest('GET', `${base}/${made.body.id}`);
  expect(body).toMatchObject({ settlement: 'BEFORE_REQUEST', timeoutSeconds: 600 });
  expect((await change(made.body.id, { timeoutSeconds: null })).body).toMatchObject({ timeoutSeconds: null });
});

test.each([
  { timeoutSeconds: 61 },
  { timeoutSeconds: 0 },
  { timeoutSeconds: 1.5 },
  { settlement: 'BEFORE_REQUEST', timeoutSeconds: 601 },
])('a time limit that is out of range for the settlement order is rejected: %j', async (input) => {
  const { status, body } = await create(input);
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('timeoutSeconds');
});

test('a change to only the settlement order is rejected if the time limit is too long for it, and the error names the limit', async () => {
  const { body } = await create({ settlement: 'BEFORE_REQUEST', timeoutSeconds: 61 });
  expect(await change(body.id, { settlement: 'AFTER_RESPONSE' })).toMatchObject(REFUSED);
  expect((await change(body.id, { settlement: 'AFTER_RESPONSE', timeoutSeconds: 60 })).status).toBe(200);
});

test.each([
  'text/event-stream',
  'Text/Event-Stream; charset=utf-8',
  'application/x-ndjson',
  'application/stream+json',
  'application/json-seq',
  'multipart/x-mixed-replace; boundary=frame',
])('an endpoint whose responses are streams is accepted with a warning if they are held: %s', async (mimeType) => {
  const { body } = await create({ mimeType });
  const type = mimeType.split(';')[0]!.toLowerCase();
  const warningAfter = (seconds: number) =>
    `Responses of the type ${type} are held until they are complete, and fail after ${seconds} seconds. To stream them, charge before the request.`;
  expect(body.warnings).toEqual([warningAfter(60)]);
  expect((await change(body.id, { timeoutSeconds: 20 })).body.warnings).toEqual([warningAfter(20)]);
  expect((await change(body.id, { settlement: 'BEFORE_REQUEST' })).body.warnings).toEqual([]);
  const isFree = 'This endpoint is free. Buyers don’t pay for requests.';
  expect((await create({ mimeType, priceUsd: '0' })).body.warnings).toEqual([isFree, warningAfter(60)]);
});

test.each([null, 'application/json', 'text/event-streams', 'video/mp4'])(
  'an endpoint with the media type %s has no warning about streams',
  async (mimeType) => {
    expect((await create({ mimeType })).body.warnings).toEqual([]);
  },
);

test('the audit log shows a changed settlement and time limit', async () => {
  const { body } = await create({});
  await change(body.id, { settlement: 'BEFORE_REQUEST', timeoutSeconds: 300 });
  const log = await alice.rest('GET', `${base.replace('/endpoints', '/audit-log')}?limit=1`);
  expect(JSON.stringify(log.body)).toMatch(/settlement.*BEFORE_REQUEST/);
  expect(JSON.stringify(log.body)).toMatch(/timeoutSeconds.*300/);
});
