import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, type ReceiverHandler, startReceiver } from '../../support/receiver.ts';
import { createProject } from '../../support/resources.ts';
import { apiWith, getting, PETS_30 } from './documents.ts';

const REFUSAL =
  'The target address must be public. You can use any https URL with a public host, on port 443 or 1024 and above. In development, you can allow other addresses with the EGRESS_ALLOW setting.';

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
let base: string;

beforeAll(async () => {
  receiver = await startReceiver();
  // Only this port is allowed, so that every other address counts as private.
  app = await startTestApp({
    env: { ROLES: 'api', EGRESS_ALLOW: `127.0.0.1/32:${receiver.port}` },
    // A public name with a private address.
    hostOverrides: { 'docs.example.com': 'http://127.0.0.1:1' },
  });
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base } = await createProject(alice));
});
afterAll(async () => {
  await app?.stop();
  await receiver?.close();
});
beforeEach(() => {
  receiver.requests.length = 0;
});

const previewing = (body: object) =>
  alice.rest<{ items: { path: string; upstreamUrl: string }[]; errors: object[] }>(
    'POST',
    `${base}/endpoints/import/preview`,
    body,
  );

async function messageFor(handler: ReceiverHandler, path = '/openapi.yaml'): Promise<string> {
  receiver.handle(handler);
  const { status, body } = await previewing({ url: receiver.url + path });
  expect(status).toBe(422);
  const [error] = body.errors as { pointer: string; message: string }[];
  expect(error!.pointer).toBe('/url');
  return error!.message;
}

test('a server without HTTPS is rejected', async () => {
  const document = apiWith({ '/a': getting('A') }, { servers: [{ url: 'http://api.example.com' }] });
  const { status, body } = await previewing({ document });
  expect({ status, errors: body.errors }).toEqual({
    status: 422,
    errors: [{ pointer: '/upstreamUrl', message: expect.stringContaining('The URL must start with https://.') }],
  });
});

describe('a document at a URL', () => {
  test('is fetched without credentials, and its relative server is on the same host', async () => {
    receiver.handle(() => ({ body: apiWith({ '/a': getting('A') }, { servers: [{ url: '../v2' }] }) }));
    const { status, body } = await previewing({ url: `${receiver.url}/docs/openapi.json?x=1` });
    expect(status).toBe(200);
    expect(body.items).toMatchObject([{ path: '/a', upstreamUrl: `${receiver.url}/v2/a` }]);
    const [{ method, path, headers }] = receiver.requests as [(typeof receiver.requests)[0]];
    expect({ method, path }).toEqual({ method: 'GET', path: '/docs/openapi.json?x=1' });
    expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });

  test('can be redirected to another allowed URL', async () => {
    receiver.handle(({ path }) =>
      path === '/old' ? { statusCode: 302, headers: { location: '/new' } } : { body: PETS_30 },
    );
    expect((await previewing({ url: `${receiver.url}/old` })).status).toBe(200);
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/old', '/new']);
  });

  test.each([
    ['http://127.0.0.1:1/private', `The server redirects to a URL that isn’t allowed. ${REFUSAL}`],
    ['https://docs.example.com/', REFUSAL],
    ['http://169.254.169.254/latest/meta-data', 'The server redirects to a URL that isn’t allowed.'],
    ['file:///etc/passwd', 'The server redirects to a URL that isn’t allowed.'],
    ['//[::1]/x', 'The server redirects to a URL that isn’t allowed.'],
    ['http://', 'The server redirects to a URL that isn’t allowed.'],
  ])('is not followed to %s', async (location, message) => {
    expect(await messageFor(() => ({ statusCode: 302, headers: { location } }))).toContain(message);
    expect(receiver.requests).toHaveLength(1);
  });

  test('is rejected after too many redirects', async () => {
    const handler = () => ({ statusCode: 301, headers: { location: '/openapi.yaml' } });
    expect(await messageFor(handler)).toContain('There are too many redirects.');
    expect(receiver.requests).toHaveLength(4);
  });

  test('is rejected if the server has no usable response', async () => {
    expect(await messageFor(() => ({ statusCode: 404 }))).toContain('The server responded with status 404.');
    expect(await messageFor(() => ({ statusCode: 304 }))).toContain('The server responded with status 304.');
    expect(await messageFor(() => ({ body: Buffer.from([0xff, 0xfe]) as never }))).toContain('It isn’t UTF-8 text.');
    expect(await messageFor(() => ({ body: 'x'.repeat(5 * 1024 * 1024 + 1) }))).toContain('It is larger than 5 MB');
    expect(await messageFor(() => ({ body: 'hello' }))).toBe('Must be an OpenAPI document in JSON or YAML.');
    expect(await messageFor(() => new Promise(() => {}))).toContain("The response didn't finish in time.");
  });

  test.each([
    ['http://127.0.0.1:1/openapi.json', REFUSAL],
    ['https://docs.example.com/openapi.json', REFUSAL],
    ['http://example.com/openapi.json', 'The URL must start with https://.'],
    ['https://user:password@example.com/', "can't contain a user name or password"],
    ['https://localhost/openapi.json', REFUSAL],
    ['openapi.json', 'Enter an absolute URL'],
  ])('can’t be %s', async (url, message) => {
    const { status, body } = await previewing({ url });
    expect({ status, errors: body.errors }).toEqual({
      status: 422,
      errors: [{ pointer: '/url', message: expect.stringContaining(message) }],
    });
    expect(receiver.requests).toEqual([]);
  });
});
