import { generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import { LARGE_EXPONENT_KEY, LARGE_KEY } from '../../support/large-key.ts';
import { sampleConfig } from '../support/configs.ts';
import { type Grant, startTokenServer, type TokenServer } from '../support/token-server.ts';
import { json } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

const TOKEN_HOSTS = ['oauth2.googleapis.com', 'identity.xero.com', 'oauth.platform.intuit.com'];
const CLIENT = { clientId: 'client+1', clientSecret: 'secret/0123456789 äöü' };
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEY_FILE = JSON.stringify(
  {
    type: 'service_account',
    project_id: 'shop',
    private_key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'tollgate@shop.iam.gserviceaccount.com',
    // This is another host, and it must not get the assertion.
    token_uri: 'https://evil.example/token',
  },
  null,
  2,
);

type Case = {
  type: ConnectorType;
  what: string;
  credential: Record<string, string>;
  /** The credential after someone has connected the app again. */
  renewed: Record<string, string>;
  host: string;
  check(grant: Grant): unknown;
};

const withClientInBasic = ({ authorization }: Grant) =>
  expect(Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString()).toBe(
    'client%2B1:secret%2F0123456789+%C3%A4%C3%B6%C3%BC',
  );

async function checkAssertion({ parameters, authorization }: Grant, scope: string): Promise<void> {
  expect(authorization).toBeUndefined();
  expect(parameters.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
  const { payload, protectedHeader } = await jwtVerify(parameters.get('assertion')!, publicKey, {
    issuer: 'tollgate@shop.iam.gserviceaccount.com',
    audience: 'https://oauth2.googleapis.com/token',
    algorithms: ['RS256'],
  });
  expect(protectedHeader.kid).toBe('key-1');
  expect(payload.scope).toBe(scope);
  expect(payload.exp! - payload.iat!).toBe(3_600);
}

const CASES: Case[] = [
  ...(
    [
      ['google-sheets', 'https://www.googleapis.com/auth/spreadsheets'],
      ['bigquery', 'https://www.googleapis.com/auth/bigquery'],
    ] as const
  ).map(([type, scope]) => ({
    type,
    what: 'a service account key',
    host: 'oauth2.googleapis.com',
    credential: { serviceAccountKey: KEY_FILE },
    renewed: { serviceAccountKey: KEY_FILE.replace('key-1', 'key-2') },
    check: (grant: Grant) => checkAssertion(grant, scope),
  })),
  {
    type: 'salesforce',
    what: 'client credentials',
    host: 'acme.my.salesforce.com',
    credential: CLIENT,
    renewed: { clientSecret: 'other-0123456789' },
    check: ({ parameters, authorization }) => {
      expect(authorization).toBeUndefined();
      expect(Object.fromEntries(parameters)).toEqual({
        grant_type: 'client_credentials',
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
      });
    },
  },
  {
    type: 'salesforce',
    what: 'a refresh token',
    host: 'acme.my.salesforce.com',
    credential: { ...CLIENT, refreshToken: 'refresh-of-salesforce' },
    renewed: { refreshToken: 'refresh-of-salesforce-2' },
    check: ({ parameters }) =>
      expect(Object.fromEntries(parameters)).toEqual({
        grant_type: 'refresh_token',
        refresh_token: 'refresh-of-salesforce',
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
      }),
  },
  {
    type: 'xero',
    what: 'a custom connection',
    host: 'identity.xero.com',
    credential: CLIENT,
    renewed: { clientSecret: 'other-0123456789' },
    check: (grant) => {
      withClientInBasic(grant);
      expect(Object.fromEntries(grant.parameters)).toEqual({ grant_type: 'client_credentials' });
    },
  },
  {
    type: 'xero',
    what: 'a refresh token',
    host: 'identity.xero.com',
    credential: { ...CLIENT, refreshToken: 'refresh-of-xero' },
    renewed: { refreshToken: 'refresh-of-xero-2' },
    check: (grant) => {
      withClientInBasic(grant);
      expect(Object.fromEntries(grant.parameters)).toEqual({
        grant_type: 'refresh_token',
        refresh_token: 'refresh-of-xero',
      });
    },
  },
  {
    type: 'quickbooks',
    what: 'a refresh token',
    host: 'oauth.platform.intuit.com',
    credential: { ...CLIENT, refreshToken: 'refresh-of-quickbooks' },
    renewed: { refreshToken: 'refresh-of-quickbooks-2' },
    check: (grant) => {
      withClientInBasic(grant);
      expect(grant.parameters.get('refresh_token')).toBe('refresh-of-quickbooks');
    },
  },
];

let stage: Stage;
let server: TokenServer;

beforeAll(async () => {
  server = await startTokenServer({ onIssued: (token) => stage.vendors.accept(token) });
  const hostOverrides = Object.fromEntries(TOKEN_HOSTS.map((host) => [host, server.url]));
  stage = await openStage({}, { hostOverrides });
  stage.vendors.issueTokens(server.answer);
});
afterAll(async () => {
  await stage?.close();
  await server?.close();
});

/** A config without an access token. */
function configWith(type: ConnectorType, credential: Record<string, string>) {
  const { accessToken: _none, ...config } = sampleConfig(type, 'required');
  return { ...config, ...credential };
}

function endTokens(): void {
  for (const token of server.tokens()) stage.vendors.expire(token);
  server.expireAll();
}

// A connector that stayed active would also request tokens.
afterEach(() => stage.db.prisma.connector.updateMany({ data: { isActive: false } }));

describe.each(CASES)('a connector of type $type with $what', ({ type, credential, renewed, host, check }) => {
  test('keeps delivering after its access tokens expire, and pauses only if no more are issued', async () => {
    if (credential.refreshToken) server.connect(credential.refreshToken);
    server.grants.length = 0;
    const body = { type, config: configWith(type, credential), eventTypes: ['payment.settled'] };
    const created = await stage.user.rest<{ id: string; config: object }>('POST', `${stage.base}/connectors`, body);
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const { id } = created.body;
    const { clientId: _shown, ...secrets } = credential;
    for (const secret of Object.values(secrets)) expect(JSON.stringify(created.body)).not.toContain(secret);

    const record = (name: string) => stage.record('payment.settled', { paymentId: `pay_${id}_${name}` });
    await record('first');
    await stage.deliveriesAre(id, 'SUCCEEDED', 1);
    expect(server.grants).toHaveLength(1);
    expect(server.grants[0]!.host).toBe(host);
    await check(server.grants[0]!);

    // The vendor invalidates the token before it expires.
    endTokens();
    await record('second');
    const delivered = await stage.deliveriesAre(id, 'SUCCEEDED', 2);
    expect(delivered.map(({ attemptCount }) => attemptCount)).toEqual([1, 1]);
    expect(server.grants).toHaveLength(2);

    server.revoke();
    endTokens();
    await record('third');
    await expect
      .poll(() => stage.connector(id))
      .toMatchObject({ pausedReason: expect.stringContaining('invalid_grant') });
    const [held] = await stage.deliveriesAre(id, 'PENDING', 1);
    expect(held).toMatchObject({ errorClass: 'no_access_token', statusCode: null });
    const test = await stage.user.rest('POST', `${stage.base}/connectors/${id}/test`, {});
    expect(test.body).toMatchObject({ probe: { ok: false, message: expect.stringContaining('invalid_grant') } });

    server.connect(renewed.refreshToken ?? '');
    expect((await stage.patch(id, { config: renewed })).body).toMatchObject({ pausedReason: null });
    await stage.deliveriesAre(id, 'SUCCEEDED', 3);
    const again = await stage.user.rest('POST', `${stage.base}/connectors/${id}/test`, {});
    expect(again.body).toMatchObject({ probe: { ok: true } });

    const history = JSON.stringify(await Promise.all(delivered.map((delivery) => stage.delivery(delivery.id))));
    for (const secret of [...server.tokens(), ...Object.values(secrets)]) expect(history).not.toContain(secret);
  });
});

test('rows that Google Sheets has stored are not written again if it then rejects the access token', async () => {
  const { id } = await stage.connect('google-sheets', { eventTypes: ['payment.settled'] });
  const config = { accessToken: null, serviceAccountKey: KEY_FILE };
  expect((await stage.patch(id, { config })).status).toBe(200);
  const before = stage.vendors.callsTo('google-sheets').length;
  stage.vendors.interfere('google-sheets', (call, _response, usual) =>
    call.body.includes('repeatCell') ? json(401, { error: { code: 401, status: 'UNAUTHENTICATED' } }) : usual(),
  );
  await stage.record('payment.settled', {}, { secondsAgo: 600 });
  const [delivery] = await stage.deliveriesAre(id, 'SUCCEEDED');
  stage.vendors.interfere('google-sheets', undefined);
  expect(delivery!.reason).toBe("Google Sheets stored the rows but didn't format their times.");
  const calls = stage.vendors.callsTo('google-sheets').slice(before);
  expect(calls.filter(({ url }) => url.pathname.endsWith(':append'))).toHaveLength(1);
});

test('a connector shows when its Intuit credential expires, until another one is saved', async () => {
  const days = 45;
  const shown = async (id: string) =>
    (await stage.user.rest<{ credentialExpiresAt: string | null }>('GET', `${stage.base}/connectors/${id}`)).body
      .credentialExpiresAt;
  const accessToken = 'token-of-intuit';
  stage.vendors.accept(accessToken);
  server.receiver.respondNext({
    body: JSON.stringify({
      access_token: accessToken,
      expires_in: 3_600,
      refresh_token: 'refresh-2',
      x_refresh_token_expires_in: 8_726_400,
      x_refresh_token_hard_expires_in: days * 86_400,
    }),
  });
  const credential = { ...CLIENT, refreshToken: 'refresh-1' };
  const { id } = await stage.connect('quickbooks', { config: { ...credential, accessToken: undefined } });
  expect(await shown(id)).toBeNull();
  await stage.user.rest('POST', `${stage.base}/connectors/${id}/test`, {});
  const end = Date.parse((await shown(id))!);
  const daysLeft = (end - Date.now()) / 86_400_000;
  expect(daysLeft).toBeCloseTo(days, 1);

  await stage.patch(id, { config: { realmId: '9130355377388384' } });
  expect(Date.parse((await shown(id))!)).toBe(end);
  const { body } = await stage.patch(id, { config: { refreshToken: 'refresh-of-another-consent' } });
  expect(body).toMatchObject({ credentialExpiresAt: null });
  expect(await shown(id)).toBeNull();
});

describe('a config', () => {
  const create = async (type: ConnectorType, config: object) =>
    (await stage.user.rest('POST', `${stage.base}/connectors`, { type, config, eventTypes: ['*'] })) as {
      status: number;
      body: { errors?: { pointer: string; message: string }[] };
    };

  test.each([
    ['google-sheets', '`serviceAccountKey`'],
    ['bigquery', '`serviceAccountKey`'],
    ['salesforce', '`clientId` and `clientSecret`'],
    ['xero', '`clientId` and `clientSecret`'],
    ['quickbooks', '`clientId` and `clientSecret` and `refreshToken`'],
  ] as const)('needs an access token or another credential for the type %s', async (type, fields) => {
    const { status, body } = await create(type, configWith(type, {}));
    expect(status).toBe(422);
    expect(body.errors).toEqual([{ pointer: '/config/accessToken', message: `Required unless you send ${fields}.` }]);
  });

  test('is rejected if its credential is incomplete, even if it has an access token', async () => {
    const { status, body } = await create('xero', { ...sampleConfig('xero', 'required'), clientId: 'client' });
    expect(status).toBe(422);
    expect(body.errors).toEqual([{ pointer: '/config/clientSecret', message: 'Required together with `clientId`.' }]);
  });

  test.each([
    ['text', 'not a key'],
    ['another kind of key', JSON.stringify({ type: 'authorized_user', client_id: 'x', refresh_token: 'y' })],
    ['a broken private key', KEY_FILE.replace('BEGIN PRIVATE KEY', 'BEGIN PUBLIC KEY')],
    ['a key that takes a long time to sign with', JSON.stringify({ ...JSON.parse(KEY_FILE), private_key: LARGE_KEY })],
    ['a key with a large exponent', JSON.stringify({ ...JSON.parse(KEY_FILE), private_key: LARGE_EXPONENT_KEY })],
  ])('is rejected with %s as the service account key', async (_what, serviceAccountKey) => {
    const { status, body } = await create('bigquery', configWith('bigquery', { serviceAccountKey }));
    expect(status).toBe(422);
    expect(body.errors).toEqual([{ pointer: '/config/serviceAccountKey', message: expect.any(String) }]);
  });

  test('can change from an access token to another credential, and masked values keep the stored ones', async () => {
    const connector = await stage.connect('google-sheets', { eventTypes: ['payment.failed'] });
    const changed = await stage.patch(connector.id, { config: { accessToken: null, serviceAccountKey: KEY_FILE } });
    expect(changed.body.config).toEqual({
      spreadsheetId: expect.any(String),
      serviceAccountKey: '••••',
    });
    const kept = await stage.patch(connector.id, { config: changed.body.config });
    expect(kept.status).toBe(200);
  });
});
