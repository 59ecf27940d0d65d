import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { PROJECT } from '../../src/rest/routes/route.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { sendRaw } from '../support/raw-http.ts';
import { createProject, createWebhook, type Resource } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let base: string;
let resend: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base } = await createProject(alice));
  const webhook = await createWebhook(alice, base);
  await alice.rest('POST', `${base}/webhooks/${webhook.id}/test`);
  const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/deliveries`);
  resend = `${base}/deliveries/${body.data[0]!.id}/resend`;
});
afterAll(() => app?.stop());

const FORM = 'Content-Type: application/x-www-form-urlencoded';
const TYPES = [FORM, 'Content-Type: text/plain;charset=UTF-8', 'Content-Type: ;', 'Content-Type: application/json'];
const CHUNKED = 'Transfer-Encoding: chunked';
const NO_CHUNKS = '0\r\n\r\n';

/** Sends exactly these header lines and this body. */
async function send(method: string, path: string, lines: string[], body = '') {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: tollgate.test', `Authorization: Bearer ${alice.token}`, ...lines];
  const [response] = await sendRaw(app.url, [`${[...head, '', ''].join('\r\n')}${body}`]);
  return { status: response!.status, json: response!.text === '' ? undefined : JSON.parse(response!.text) };
}

describe.each(TYPES)('an empty body with %s', (type) => {
  test.each<[string, string[], string]>([
    ['Content-Length: 0', ['Content-Length: 0'], ''],
    ['no length', [], ''],
    ['zero chunks', [CHUNKED], NO_CHUNKS],
    ['zero chunks and a compression', [CHUNKED, 'Content-Encoding: gzip'], NO_CHUNKS],
  ])('and %s is no body', async (_name, lines, body) => {
    // Another delivery could be in progress, but the request as such was accepted.
    expect([200, 409]).toContain((await send('POST', resend, [type, ...lines], body)).status);
    const { base: doomed } = await createProject(alice);
    expect(await send('DELETE', doomed, [type, ...lines], body)).toMatchObject({ status: 204 });
    const missing = { status: 422, json: { code: 'VALIDATION_FAILED', errors: [{ pointer: '' }] } };
    expect(await send('PATCH', base, [type, ...lines], body)).toMatchObject(missing);
    expect(await send('POST', '/api/projects', [type, ...lines], body)).toMatchObject(missing);
    const noQuery = { message: 'Send a JSON object with the GraphQL document in `query`.' };
    expect(await send('POST', '/graphql', [type, ...lines], body)).toMatchObject({
      status: 400,
      json: { errors: [noQuery] },
    });
  });
});

describe('a body of another type still gets 415', () => {
  test.each<[string, string[], string]>([
    ['with a length', [FORM, 'Content-Length: 1'], 'x'],
    ['in chunks', [FORM, CHUNKED], `1\r\nx\r\n${NO_CHUNKS}`],
    ['in chunks without a type', [CHUNKED], `1\r\nx\r\n${NO_CHUNKS}`],
    ['before its end arrives', [FORM, CHUNKED], '1\r\nx\r\n'],
    ['before it arrives', [FORM, 'Content-Length: 1'], ''],
    ['with a malformed type', ['Content-Type: ;', 'Content-Length: 1'], 'x'],
    ['that is compressed', [TYPES[3]!, 'Content-Encoding: gzip', 'Content-Length: 2'], '{}'],
  ])('%s', async (_name, lines, body) => {
    for (const [method, path] of [
      ['POST', resend],
      ['PATCH', base],
      ['DELETE', base],
      ['POST', '/graphql'],
    ] as const) {
      expect(await send(method, path, lines, body), `${method} ${path}`).toMatchObject({ status: 415 });
    }
  });
});

test('fetch can send an empty string', async () => {
  const headers = { authorization: `Bearer ${alice.token}` };
  const { status } = await fetch(`${app.url}${resend}`, { method: 'POST', body: '', headers });
  expect([200, 409]).toContain(status);
});

const WRITING = ROUTES.filter(({ method }) => method === 'POST' || method === 'PATCH');

test.each(WRITING)('$operationId needs a body only if the contract says so', async ({ method, path }) => {
  const template = path.replaceAll(/:(\w+)/g, '{$1}');
  const { requestBody } = rest.openapi.document.paths[template]![method.toLowerCase()]!;
  const own = path.replace(PROJECT, base).replaceAll(/:\w+/g, newId('Webhook'));
  const { status } = await send(method, own, [FORM, 'Content-Length: 0']);
  expect(status === 422).toBe(requestBody?.required);
});
