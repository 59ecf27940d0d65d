import { afterAll, beforeAll, expect, test } from 'vitest';
import { headerLines, rawRequest, sign, v2Headers } from '../gateway/sign.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

/** Headers that proxies in front of an API set, and that the API trusts. */
const NAMES = [
  'x-webauth-user',
  'x-consumer-username',
  'x-consumer-groups',
  'x-credential-identifier',
  'x-authenticated-userid',
  'x-ms-client-principal',
  'x-hasura-role',
  'x-hasura-admin-secret',
  'x-ssl-client-verify',
  'x-client-cert',
  'x-goog-authenticated-user-email',
  'x-user-id',
  'ssl-client-verify',
  'remote-user',
];

let stage: AttackStage;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/weather': {} } });
});
afterAll(() => stage?.close());

test.each([
  ['as they are', (name: string) => name],
  // Servers that turn header names into variables (CGI, WSGI, PHP) treat these like the ones above.
  ['with underscores', (name: string) => name.replaceAll('-', '_')],
  ['in uppercase', (name: string) => name.toUpperCase()],
])("the upstream doesn't get headers that proxies use to identify the caller: %s", async (_how, write) => {
  const { rails, upstream, urls } = stage;
  upstream.requests.length = 0;
  const forged = Object.fromEntries(NAMES.map((name) => [write(name), 'admin']));
  const lines = headerLines({ ...forged, accept: 'text/plain', ...v2Headers(await sign(await rails.wallet())) });
  const { origin, pathname } = new URL(`${urls[0]}/weather`);

  const [response] = await sendRaw(origin, [rawRequest(`GET ${pathname}`, 'Host: a', ...lines)]);

  expect([response!.status, response!.text]).toEqual([200, 'served']);
  const [{ headers } = { headers: {} }] = upstream.requests;
  expect(headers).toMatchObject({ accept: 'text/plain' });
  expect(JSON.stringify(headers)).not.toContain('admin');
});
