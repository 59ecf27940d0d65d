import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox, type SecretBox } from '../../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import {
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  EVERY_SCOPE,
  type Resource,
} from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let secretBox: SecretBox;
let alice: TestUser;
let base: string;
let projectId: string;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  app = await startTestApp({ delivery: { retryScheduleSeconds: [] } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  secretBox = createSecretBox(await loadKeyring({ secretKeys: undefined, dataDir: app.dataDir }));
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
  await receiver?.close();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

type Stored = { headers: object[]; authentication: object | null };

const patch = (id: string, body: object, user = alice) =>
  rest.send<Resource>(user, 'PATCH', `${base}/webhooks/${id}`, { body });
const read = async (id: string, user = alice) =>
  (await rest.send<Resource>(user, 'GET', `${base}/webhooks/${id}`)).body;
const pointersOf = (body: Record<string, unknown>) =>
  (body.errors as { pointer: string }[]).map(({ pointer }) => pointer);

/** Returns the headers and authentication as deliveries use them. */
async function stored(id: string): Promise<Stored | null> {
  const { rows } = await pool.query('SELECT "secretCredentials", "url" FROM "Webhook" WHERE "id" = $1', [id]);
  const sealed: string | null = rows[0].secretCredentials;
  const cell = { table: 'Webhook', column: 'secretCredentials', rowId: id, projectId };
  if (!sealed) return null;
  const { url, ...credentials } = JSON.parse(secretBox.open(sealed, cell));
  expect(url).toBe(rows[0].url);
  return credentials;
}

const KEY = { name: 'X-Api-Key', value: 'key-of-the-receiver' };
const STAGE = { name: 'X-Stage', value: 'test' };
const BASIC = { type: 'BASIC', username: 'tollgate', password: 'correct horse battery' };
const BEARER = { type: 'BEARER', token: 'token-0123456789' };
const OAUTH = {
  type: 'OAUTH2_CLIENT_CREDENTIALS',
  tokenUrl: 'https://login.example.com/token?tenant=0123456789',
  clientId: 'client-1',
  clientSecret: 'secret-0123456789',
  scope: 'events:write',
};
const NOT_SET = {
  username: null,
  password: null,
  token: null,
  tokenUrl: null,
  clientId: null,
  clientSecret: null,
  scope: null,
};

describe('a webhook without headers and authentication', () => {
  test('has the same timeout and retries as before, and nothing encrypted', async () => {
    const webhook = await createWebhook(alice, base);
    const defaults = { headers: [], authentication: null, timeoutSeconds: 15, retrySchedule: 'STANDARD' };
    expect(webhook).toMatchObject(defaults);
    expect(await read(webhook.id)).toMatchObject(defaults);
    expect(await stored(webhook.id)).toBeNull();
  });
});

describe('the headers and authentication of a webhook', () => {
  test.each([
    ['BASIC', BASIC, { password: '••••tery' }],
    ['BEARER', BEARER, { token: '••••6789' }],
    ['OAUTH2_CLIENT_CREDENTIALS', OAUTH, { clientSecret: '••••6789' }],
  ])('are masked when they are read, and complete when they are used: %s', async (_type, authentication, masked) => {
    const { id, ...webhook } = await createWebhook(alice, base, { headers: [KEY, STAGE], authentication });
    const shown = {
      headers: [
        { name: 'X-Api-Key', value: '••••iver' },
        { name: 'X-Stage', value: '••••' },
      ],
      authentication: { ...NOT_SET, ...authentication, ...masked },
    };
    expect(webhook).toMatchObject(shown);
    expect(await read(id)).toMatchObject(shown);
    expect(await stored(id)).toEqual({ headers: [KEY, STAGE], authentication });
  });

  test('show an API key the token URL only with its secrets masked, and it can be sent back', async () => {
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    const { id } = await createWebhook(alice, base, { authentication: OAUTH });
    const caller = app.caller(key);
    const { authentication, url } = await read(id, caller);
    expect(authentication).toMatchObject({ tokenUrl: 'https://login.example.com/token?tenant=••••' });
    const { token: _token, username: _username, password: _password, ...fields } = authentication as Resource;
    expect((await patch(id, { url, authentication: fields }, caller)).status).toBe(200);
    expect(await stored(id)).toEqual({ headers: [], authentication: OAUTH });
  });

  test('stay unchanged if their masks are sent back, regardless of the case and order of the names', async () => {
    const { id, headers, authentication } = await createWebhook(alice, base, {
      headers: [KEY, STAGE],
      authentication: BASIC,
    });
    const [key, stage] = headers as (typeof KEY)[];
    const added = { name: 'X-New', value: 'new' };
    const changes = { headers: [added, stage, { ...key, name: 'x-api-key' }], authentication };
    expect((await patch(id, changes)).status).toBe(200);
    expect(await stored(id)).toEqual({
      headers: [added, STAGE, { ...KEY, name: 'x-api-key' }],
      authentication: BASIC,
    });
  });

  test('stay unchanged if they are omitted, and are removed by an empty list and null', async () => {
    const { id } = await createWebhook(alice, base, { headers: [KEY], authentication: OAUTH });
    await patch(id, { description: 'Mine' });
    expect(await stored(id)).toEqual({ headers: [KEY], authentication: OAUTH });
    await patch(id, { authentication: { type: OAUTH.type, clientId: 'client-2', scope: null } });
    const { scope: _scope, ...rest } = OAUTH;
    expect(await stored(id)).toEqual({ headers: [KEY], authentication: { ...rest, clientId: 'client-2' } });
    await patch(id, { headers: [] });
    expect(await stored(id)).toMatchObject({ headers: [], authentication: { clientId: 'client-2' } });
    expect((await patch(id, { authentication: null })).body).toMatchObject({ headers: [], authentication: null });
    expect(await stored(id)).toBeNull();
  });

  test('require every field when the type of authentication changes', async () => {
    const { id } = await createWebhook(alice, base, { authentication: BASIC });
    const { status, body } = await patch(id, { authentication: { type: 'BEARER' } });
    expect([status, pointersOf(body)]).toEqual([422, ['/authentication/token']]);
    expect((await patch(id, { authentication: BEARER })).status).toBe(200);
    expect(await stored(id)).toEqual({ headers: [], authentication: BEARER });
  });

  test('are erased when the webhook is deleted', async () => {
    const { id } = await createWebhook(alice, base, { headers: [KEY], authentication: OAUTH });
    await pool.query(`INSERT INTO "WebhookToken" ("id", "projectId", "sealed") VALUES ($1, $2, 'x')`, [id, projectId]);
    // Its history is cleared in the background, and then its row is deleted.
    await pool.query(`UPDATE "Webhook" SET "description" = 'x' WHERE "id" = $1`, [id]);
    await rest.send(alice, 'DELETE', `${base}/webhooks/${id}`);
    const { rows } = await pool.query(
      `SELECT "secretCredentials", "credentials" FROM "Webhook" WHERE "id" = $1 AND "secretCredentials" IS NOT NULL
       UNION ALL SELECT "sealed", NULL FROM "WebhookToken" WHERE "id" = $1`,
      [id],
    );
    expect(rows).toEqual([]);
  });

  test('are in the audit log only with their masks', async () => {
    const { id } = await createWebhook(alice, base, { headers: [KEY], authentication: OAUTH });
    await patch(id, { headers: [{ ...KEY, value: 'another-key-of-the-receiver' }], timeoutSeconds: 20 });
    const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/audit-log`);
    const [updated, created] = body.data.filter(({ targetId }) => targetId === id);
    expect(created!.changes).toMatchObject({
      headers: [{ name: 'X-Api-Key', value: '••••iver' }],
      authentication: {
        type: OAUTH.type,
        clientId: 'client-1',
        clientSecret: '••••6789',
        tokenUrl: 'https://login.example.com/token?tenant=••••',
      },
    });
    // A new value counts as a change even if its mask is the same.
    expect(updated!.changes).toMatchObject({ timeoutSeconds: 20, headers: [{ name: 'X-Api-Key', value: '••••iver' }] });
    expect(JSON.stringify(body)).not.toMatch(/receiver|0123456789/);
  });
});

describe('a new address', () => {
  const url = 'https://elsewhere.example.com/in';
  const create = () => createWebhook(alice, base, { headers: [KEY, STAGE], authentication: OAUTH });
  const again = (pointer: string, title: string) => ({
    pointer,
    message: `Send this secret again in full: you are changing where it is sent (${title}).`,
  });

  test('requires every secret again, in full', async () => {
    const { id, headers, authentication, url: old } = await create();
    const all = ['/headers/0/value', '/headers/1/value', '/authentication/clientSecret'];
    for (const body of [{ url }, { url, headers, authentication: { type: OAUTH.type } }]) {
      const refused = await patch(id, body);
      expect(refused).toMatchObject({ status: 422, body: { errors: all.map((pointer) => again(pointer, 'URL')) } });
    }
    const partly = { url, headers: [KEY, (headers as object[])[1]], authentication: OAUTH };
    expect((await patch(id, partly)).body).toMatchObject({ errors: [again('/headers/1/value', 'URL')] });
    expect(await read(id)).toMatchObject({ url: old, authentication });

    const sent = await patch(id, { url, headers: [KEY, STAGE], authentication: OAUTH });
    expect(sent).toMatchObject({ status: 200, body: { url } });
  });

  test('is accepted without secrets if they are removed, or if there are none', async () => {
    const { id } = await create();
    expect((await patch(id, { url, headers: [], authentication: null })).status).toBe(200);
    expect((await patch(id, { url: `${url}/2` })).status).toBe(200);
    expect(await stored(id)).toBeNull();
  });

  test('doesn’t require any secrets again if it is the same as the old one', async () => {
    const { id, url: old } = await create();
    expect((await patch(id, { url: old, description: 'Mine' })).status).toBe(200);
    expect(await stored(id)).toEqual({ headers: [KEY, STAGE], authentication: OAUTH });
  });

  test('that was set in the database requires every secret again', async () => {
    const { id, url: old, headers } = await create();
    await pool.query('UPDATE "Webhook" SET "url" = $2 WHERE "id" = $1', [id, url]);
    for (const body of [{ headers }, { url, headers }])
      expect(await patch(id, body)).toMatchObject({
        status: 422,
        body: { errors: [again('/headers/0/value', 'URL'), {}, {}] },
      });
    expect((await patch(id, { url: old, headers })).status).toBe(200);
    expect(await stored(id)).toEqual({ headers: [KEY, STAGE], authentication: OAUTH });
  });

  test('requires only the client secret again if it is the token URL', async () => {
    const { id } = await create();
    const tokenUrl = 'https://elsewhere.example.com/token';
    const refused = await patch(id, { authentication: { type: OAUTH.type, tokenUrl } });
    const errors = [again('/authentication/clientSecret', 'token URL')];
    expect(refused).toMatchObject({ status: 422, body: { errors } });
    const { clientSecret } = OAUTH;
    const sent = await patch(id, { authentication: { type: OAUTH.type, tokenUrl, clientSecret } });
    expect(sent).toMatchObject({ status: 200, body: { authentication: { tokenUrl } } });
    expect(await stored(id)).toEqual({ headers: [KEY, STAGE], authentication: { ...OAUTH, tokenUrl } });
  });

  test('also requires the secrets again if it comes from an API key', async () => {
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    const { id } = await create();
    expect((await patch(id, { url }, app.caller(key))).status).toBe(422);
  });

  test('forgets the access token', async () => {
    const { id } = await create();
    const sealed = `INSERT INTO "WebhookToken" ("id", "projectId", "sealed", "expiresAt") VALUES ($1, $2, 'x', now())`;
    await pool.query(sealed, [id, projectId]);
    await patch(id, { url, headers: [], authentication: OAUTH });
    const { rows } = await pool.query('SELECT * FROM "WebhookToken" WHERE "id" = $1', [id]);
    expect(rows).toMatchObject([{ sealed: '', expiresAt: null, generation: 1 }]);
  });
});

describe('a webhook is rejected if', () => {
  const header = (value: object) => ({ headers: [KEY, { ...STAGE, ...value }] });
  const oauth = (value: object) => ({ authentication: { ...OAUTH, ...value } });
  test.each<[string, object, string[]]>([
    ['a header belongs to the connection', header({ name: 'Transfer-Encoding' }), ['/headers/1/name']],
    ['a header has a name that Tollgate sets', header({ name: 'Webhook-Signature' }), ['/headers/1/name']],
    ['a header has a name that HTTP doesn’t allow', header({ name: 'X Stage' }), ['/headers/1/name']],
    ['a header has a value that HTTP doesn’t allow', header({ value: 'a\nb' }), ['/headers/1/value']],
    ['a header has no value', { headers: [{ name: 'X-Stage' }] }, ['/headers/0/value']],
    ['a header has an unknown field', header({ colour: 'red' }), ['/headers/1/colour']],
    ['a header has a masked value', header({ value: '••••test' }), ['/headers/1/value']],
    ['two headers have the same name', header({ name: 'x-api-key' }), ['/headers/1/name']],
    [
      'there are 21 headers',
      { headers: Array.from({ length: 21 }, (_, n) => ({ name: `X-${n}`, value: 'v' })) },
      ['/headers'],
    ],
    ['the headers have more than 8,192 bytes', header({ value: 'v'.repeat(8_191) }), ['/headers']],
    [
      'a header and the authentication are both Authorization',
      { ...header({ name: 'authorization' }), authentication: BASIC },
      ['/headers/1/name'],
    ],
    ['the authentication has no type', { authentication: { token: 'x' } }, ['/authentication/type']],
    ['the authentication has an unknown type', { authentication: { type: 'DIGEST' } }, ['/authentication/type']],
    ['a field is missing', { authentication: { type: 'BASIC', username: 'x' } }, ['/authentication/password']],
    ['a field belongs to another type', { authentication: { ...BEARER, password: 'x' } }, ['/authentication/password']],
    ['a user name has a colon', { authentication: { ...BASIC, username: 'a:b' } }, ['/authentication/username']],
    ['a password is empty', { authentication: { ...BASIC, password: '' } }, ['/authentication/password']],
    ['a password has a line break', { authentication: { ...BASIC, password: 'a\r\nb' } }, ['/authentication/password']],
    ['a token has a space', { authentication: { ...BEARER, token: 'a b' } }, ['/authentication/token']],
    ['a token is masked', { authentication: { ...BEARER, token: '••••6789' } }, ['/authentication/token']],
    ['a token is too long', { authentication: { ...BEARER, token: 'x'.repeat(4_097) } }, ['/authentication/token']],
    ['a token URL isn’t a web address', oauth({ tokenUrl: 'ftp://login.example.com' }), ['/authentication/tokenUrl']],
    ['a token URL is masked', oauth({ tokenUrl: 'https://login.example.com/••••' }), ['/authentication/tokenUrl']],
    ['a scope has two spaces in a row', oauth({ scope: 'a  b' }), ['/authentication/scope']],
    ['the timeout is 0', { timeoutSeconds: 0 }, ['/timeoutSeconds']],
    ['the timeout is more than 30 seconds', { timeoutSeconds: 31 }, ['/timeoutSeconds']],
    ['the timeout isn’t a whole number', { timeoutSeconds: 1.5 }, ['/timeoutSeconds']],
    ['the retry schedule is unknown', { retrySchedule: 'FAST' }, ['/retrySchedule']],
  ])('%s', async (_reason, fields, pointers) => {
    const body = { url: 'https://hooks.example.com/in', eventTypes: ['*'], ...fields };
    const created = await rest.send(alice, 'POST', `${base}/webhooks`, { body });
    expect(created).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } });
    expect(pointersOf(created.body)).toEqual(pointers);
    const { id } = await createWebhook(alice, base);
    expect(pointersOf((await patch(id, fields)).body)).toEqual(pointers);
    expect(await stored(id)).toBeNull();
  });
});

test('the webhook’s headers and authentication are sent as they were saved', async () => {
  await createWebhook(alice, base, {
    url: `${receiver.url}/${projectId}`,
    headers: [KEY],
    authentication: BASIC,
    eventTypes: ['endpoint.created'],
  });
  await createEndpoint(alice, base);
  const [request] = await receiver.waitFor(({ path }) => path === `/${projectId}`);
  expect(request!.headers).toMatchObject({
    'x-api-key': KEY.value,
    authorization: `Basic ${btoa('tollgate:correct horse battery')}`,
    'content-type': 'application/json',
    'webhook-id': expect.stringMatching(/^evt_/),
  });
});

describe('the explanation of a delivery', () => {
  type Explanation = { curl: string; curlVariables: { name: string }[]; remainingTries: object[] };

  /** Returns the explanation of a test event once its first attempt has been made. */
  async function explain(fields: object): Promise<Explanation> {
    const { id } = await createWebhook(alice, base, { url: `${receiver.url}/failing`, ...fields });
    const sent = await rest.send<Resource>(alice, 'POST', `${base}/webhooks/${id}/test`, { body: {} });
    const path = `${base}/deliveries/${sent.body.id}`;
    const isAttempted = async () => (await rest.send<Resource>(alice, 'GET', path)).body.statusCode;
    await expect.poll(isAttempted).not.toBeNull();
    return (await rest.send<Explanation>(alice, 'GET', `${path}/explain`)).body;
  }

  test('has variables for the webhook’s own headers and authentication', async () => {
    const { curl, curlVariables } = await explain({ headers: [KEY], authentication: BASIC });
    const names = curlVariables.map(({ name }) => name);
    expect(names).toEqual(['WEBHOOK_SECRET', 'HEADER_X_API_KEY', 'HEADER_AUTHORIZATION']);
    expect(curl).toContain(`--header 'x-api-key: '"$HEADER_X_API_KEY"`);
    expect(curl).toContain(`--header 'authorization: '"$HEADER_AUTHORIZATION"`);
    expect(curl).not.toContain(KEY.value);
  });

  test('lists the remaining attempts of the webhook’s own retry schedule', async () => {
    receiver.handle(() => ({ statusCode: 400 }));
    expect((await explain({ retrySchedule: 'LONG' })).remainingTries).toHaveLength(13);
    expect((await explain({ retrySchedule: 'NONE' })).remainingTries).toEqual([]);
    receiver.handle(() => ({}));
  });
});
