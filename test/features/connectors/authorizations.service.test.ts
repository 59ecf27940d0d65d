import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import { sweepConnectorAuthorizations } from '../../../src/features/connectors/authorization-sweep.ts';
import { openStage, type Stage } from '../../connectors/end-to-end/stage.ts';
import { sampleConfig } from '../../connectors/support/configs.ts';
import { type Consent, createConsent } from '../../connectors/support/consent.ts';
import type { TestUser } from '../../support/app.ts';
import { freePort } from '../../support/free-port.ts';
import { join, person } from '../../support/members.ts';

const APP = { clientId: 'operator-app', clientSecret: 'operator-secret-0123456789' };
const OVER = [{ pointer: '/state', message: expect.stringContaining('Connect the account again.') }];
const MOVED = { instanceUrl: 'https://other.my.salesforce.com/', grant: null, accessToken: 'own-token-0123456789' };
const VENDORS = ['GOOGLE', 'SALESFORCE', 'XERO', 'QUICKBOOKS'];
const TYPES = ['google-sheets', 'bigquery', 'salesforce', 'xero', 'quickbooks'] as const;
const START = `mutation ($input: StartConnectorAuthorizationInput!) {
  startConnectorAuthorization(input: $input) { authorizationUrl }
}`;
const FINISH = `mutation ($input: FinishConnectorAuthorizationInput!) {
  finishConnectorAuthorization(input: $input) { connector { id config pausedReason } }
}`;

type Shown = { id: string; config: Record<string, unknown>; pausedReason: string | null };
type Started = { startConnectorAuthorization: { authorizationUrl: string } };
type Finished = { finishConnectorAuthorization: { connector: Shown } };

let stage: Stage;
let consent: Consent;
/** Everything that was logged. */
let logged = '';

beforeAll(async () => {
  const port = String(await freePort());
  const publicUrl = `http://127.0.0.1:${port}`;
  const apps = VENDORS.flatMap((vendor) => [
    [`CONNECT_${vendor}_CLIENT_ID`, APP.clientId],
    [`CONNECT_${vendor}_CLIENT_SECRET`, APP.clientSecret],
  ]);
  const log = pino({ level: 'trace' }, { write: (line) => (logged += line) });
  stage = await openStage({}, { env: { PORT: port, PUBLIC_URL: publicUrl, ...Object.fromEntries(apps) }, log });
  consent = createConsent({
    app: APP,
    redirectUri: `${publicUrl}/console/connect`,
    onIssued: (token) => stage.vendors.accept(token),
  });
  stage.vendors.issueTokens(consent.answer);
});
afterAll(() => stage?.close());
afterEach(() => stage.db.prisma.connector.updateMany({ data: { isActive: false } }));

/** A config without credentials. */
function configOf(type: ConnectorType): Record<string, unknown> {
  const { accessToken: _none, ...config } = sampleConfig(type, 'required');
  return config;
}
const inputOf = (type: ConnectorType, values = {}) => ({
  projectId: stage.projectId,
  type: type.toUpperCase().replaceAll('-', '_'),
  config: configOf(type),
  eventTypes: ['PAYMENT_SETTLED'],
  ...values,
});

async function start(input: object, user: TestUser = stage.user): Promise<string> {
  const { data, errors } = await user.graphql<Started>(START, { input });
  expect(errors).toBeUndefined();
  return data!.startConnectorAuthorization.authorizationUrl;
}

const finish = (input: { state: string; code: string }, user: TestUser = stage.user) =>
  user.graphql<Finished>(FINISH, { input });

async function connect(input: object): Promise<Shown> {
  const { data, errors } = await finish(consent.agree(await start(input)));
  expect(errors).toBeUndefined();
  return data!.finishConnectorAuthorization.connector;
}

const fieldErrors = (response: { errors?: { extensions: Record<string, unknown> }[] }) =>
  response.errors?.[0]?.extensions.errors;
const rowCount = () => stage.db.prisma.connectorAuthorization.count();

describe.each(TYPES)('a connector of type %s', (type) => {
  test('delivers after it was connected with the operator’s app, and no token or secret leaks', async () => {
    const connector = await connect(inputOf(type));
    expect(connector.config).toEqual({ ...configOf(type), grant: expect.stringMatching(/^••••/) });
    await stage.record('payment.settled', { paymentId: `pay_${type}` });
    const [delivery] = await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);

    const shown = [connector, await stage.connector(connector.id), await stage.delivery(delivery!.id)];
    const audit = await stage.user.rest('GET', `${stage.base}/audit-log`);
    const rows = await stage.db.pool.query('SELECT * FROM "Connector", "ConnectorToken", "ConnectorAuthorization"');
    const everything = JSON.stringify([shown, audit.body, rows.rows]) + logged;
    for (const secret of [...consent.issued, APP.clientSecret]) expect(everything).not.toContain(secret);
    expect(await rowCount()).toBe(0);
  });
});

test.each([
  [null, null],
  [{ 'data.amountUsd': { gt: '1.00' } }, 2.5],
])(
  'a new connector has the filter %j and the limit %j that its authorization was started with',
  async (filter, maxPerSecond) => {
    const { id } = await connect(inputOf('xero', { filter, maxPerSecond }));
    expect(await stage.connector(id)).toMatchObject({ filter, maxPerSecond, eventTypes: ['payment.settled'] });
  },
);

describe('an existing connector', () => {
  test('can be connected again, which replaces its credentials and resumes it', async () => {
    const connector = await stage.connect('google-sheets', { eventTypes: ['payment.settled'] });
    stage.vendors.expire(connector.mark);
    await stage.record('payment.settled', { paymentId: 'pay_held' });
    await expect.poll(() => stage.connector(connector.id)).toMatchObject({ pausedReason: expect.any(String) });

    const changes = { connectorId: connector.id, config: { sheetName: null } };
    const connected = await connect(inputOf('google-sheets', changes));
    expect(connected).toMatchObject({ id: connector.id, pausedReason: null });
    expect(connected.config).toEqual({ ...configOf('google-sheets'), grant: expect.stringMatching(/^••••/) });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
  });

  test('pauses when the account revokes access, and says how to connect again', async () => {
    const { id } = await connect(inputOf('xero'));
    consent.revoke();
    const result = await stage.user.rest('POST', `${stage.base}/connectors/${id}/test`, {});
    expect(result.body).toMatchObject({
      probe: {
        ok: false,
        message: 'Xero refused to issue an access token (invalid_grant). Connect the account again in the console.',
      },
    });
  });

  test('keeps its account when other fields change, and can get its own credentials', async () => {
    const { id, config } = await connect(inputOf('quickbooks'));
    const kept = await stage.patch(id, { config: { realmId: '9130355377388384' } });
    expect(kept.body.config).toEqual({ realmId: '9130355377388384', grant: config.grant });
    const changed = await stage.patch(id, { config: { grant: null, accessToken: 'own-token-0123456789' } });
    expect(changed.body.config).toEqual({ realmId: '9130355377388384', accessToken: '••••6789' });
  });
});

describe('an authorization', () => {
  test('can be finished only once, by the user who started it, within ten minutes', async () => {
    const stranger = await stage.app.user('mallory');
    const returned = consent.agree(await start(inputOf('xero')));
    expect(fieldErrors(await finish(returned, stranger))).toEqual(OVER);
    expect(fieldErrors(await finish({ ...returned, state: `${returned.state}x` }))).toEqual(OVER);
    expect((await finish(returned)).errors).toBeUndefined();
    expect(fieldErrors(await finish(returned))).toEqual(OVER);

    const late = consent.agree(await start(inputOf('xero')));
    await stage.db.pool.query(`UPDATE "ConnectorAuthorization" SET "expiresAt" = "expiresAt" - interval '10 minutes'`);
    expect(fieldErrors(await finish(late))).toEqual(OVER);
    expect(await rowCount()).toBe(1);
    await sweepConnectorAuthorizations(stage.db.pool);
    expect(await rowCount()).toBe(0);
  });

  test('is finished only once, even if the vendor’s response arrives in two tabs at the same time', async () => {
    const returned = consent.agree(await start(inputOf('xero')));
    const responses = await Promise.all([finish(returned), finish(returned)]);
    expect(responses.filter(({ errors }) => errors === undefined)).toHaveLength(1);
  });

  test('can’t be started or finished by an API key', async () => {
    const key = await stage.user.rest<{ key: string }>('POST', `${stage.base}/keys`, { name: 'CI' });
    const program = stage.app.caller(key.body.key);
    const returned = consent.agree(await start(inputOf('xero')));
    const responses = [await program.graphql(START, { input: inputOf('xero') }), await finish(returned, program)];
    for (const { errors } of responses) expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    await finish(returned);
  });

  test('can’t be started for another user’s project or connector, or for another type', async () => {
    const stranger = await stage.app.user('mallory');
    const { id } = await stage.connect('xero', { eventTypes: ['payment.settled'] });
    const own = await stranger.rest<{ id: string }>('POST', '/api/projects', {
      name: 'Own',
      walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
    });
    const attempts = [
      stranger.graphql(START, { input: inputOf('xero') }),
      stranger.graphql(START, { input: inputOf('xero', { projectId: own.body.id, connectorId: id }) }),
      stage.user.graphql(START, { input: inputOf('quickbooks', { connectorId: id }) }),
    ];
    for (const { errors } of await Promise.all(attempts)) expect(errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  });

  test('stores no credentials from the config, which aren’t checked and could be large', async () => {
    await start(inputOf('xero', { config: { ...configOf('xero'), accessToken: 'x'.repeat(200_000), grant: ['x'] } }));
    const { rows } = await stage.db.pool.query(
      'SELECT max(length("sealed"))::int AS "longest" FROM "ConnectorAuthorization"',
    );
    expect(rows[0].longest).toBeLessThan(2_000);
    await stage.db.prisma.connectorAuthorization.deleteMany();
  });

  test('can’t be finished at another server, to which the connector was changed in the meantime', async () => {
    const { id } = await connect(inputOf('salesforce'));
    const returned = consent.agree(await start(inputOf('salesforce', { connectorId: id, config: {} })));
    expect((await stage.patch(id, { config: MOVED })).status).toBe(200);
    const before = consent.issued.length;
    expect(fieldErrors(await finish(returned))).toEqual(OVER);
    expect(consent.issued).toHaveLength(before);
  });

  test('connects the server where access was authorized, even if the connector is changed before the vendor responds', async () => {
    const { id } = await connect(inputOf('salesforce'));
    const returned = consent.agree(await start(inputOf('salesforce', { connectorId: id, config: {} })));
    stage.vendors.issueTokens(async (request) => {
      expect((await stage.patch(id, { config: MOVED })).status).toBe(200);
      return consent.answer(request);
    });
    expect((await finish(returned)).errors).toBeUndefined();
    stage.vendors.issueTokens(consent.answer);
    expect((await stage.connector(id)).config).toMatchObject(configOf('salesforce'));
  });

  test('is the only way to set a connector’s grant, which would be sent with the operator’s secret', async () => {
    const { tenantId } = configOf('xero');
    const entered = { tenantId, grant: 'made-up-0123456789' };
    const error = { code: 'VALIDATION_FAILED', errors: [{ pointer: '/config/grant', message: expect.any(String) }] };
    const body = { type: 'xero', eventTypes: ['*'], config: entered };
    expect((await stage.user.rest('POST', `${stage.base}/connectors`, body)).body).toMatchObject(error);
    const { id, config } = await connect(inputOf('xero'));
    expect((await stage.patch(id, { config: { grant: entered.grant } })).body).toMatchObject(error);
    const input = { id, typedConfig: { xero: { tenantId: String(tenantId), grant: entered.grant } } };
    const { errors } = await stage.user.graphql(
      'mutation ($input: UpdateConnectorInput!) { updateConnector(input: $input) { connector { id } } }',
      { input },
    );
    expect(errors?.[0]?.extensions.errors).toMatchObject([{ pointer: '/typedConfig/xero/grant' }]);
    expect((await stage.connector(id)).config).toEqual(config);
  });

  test('reports mistakes in the config before the user leaves', async () => {
    const response = await stage.user.graphql(START, { input: inputOf('salesforce', { config: {} }) });
    expect(fieldErrors(response)).toEqual([{ pointer: '/config/instanceUrl', message: expect.any(String) }]);
    expect(await rowCount()).toBe(0);
  });

  test.each([
    ['an error', { statusCode: 400, body: '{"error":"invalid_client"}' }, "couldn't complete the connection"],
    ['an outage', { statusCode: 503 }, "couldn't complete the connection"],
    ['no refresh token', { body: '{"access_token":"a","expires_in":3600}' }, 'only temporary access'],
  ])('changes nothing if the vendor responds with %s', async (_what, response, message) => {
    const count = await stage.db.prisma.connector.count();
    const returned = consent.agree(await start(inputOf('google-sheets')));
    consent.respondNext(response);
    const result = await finish(returned);
    expect(fieldErrors(result)).toEqual([{ pointer: '/code', message: expect.stringContaining(message) }]);
    expect(await stage.db.prisma.connector.count()).toBe(count);
    expect(await rowCount()).toBe(0);
  });

  test.each([
    ['is removed', 'DELETE', undefined, 'NOT_FOUND'],
    ['becomes a viewer', 'PATCH', { role: 'VIEWER' }, 'FORBIDDEN'],
  ] as const)('changes nothing if the person %s before the vendor responds', async (_what, method, body, code) => {
    const count = await stage.db.prisma.connector.count();
    const dana = await person(stage.app, 'dana');
    const { id } = await join(stage.user, stage.base, dana, 'DEVELOPER');
    const returned = consent.agree(await start(inputOf('xero'), dana));
    stage.vendors.issueTokens(async (request) => {
      expect((await stage.user.rest(method, `${stage.base}/members/${id}`, body)).status).toBeLessThan(300);
      return consent.answer(request);
    });
    const { errors } = await finish(returned, dana);
    stage.vendors.issueTokens(consent.answer);
    await stage.user.rest('DELETE', `${stage.base}/members/${id}`);
    expect(errors?.[0]?.extensions.code).toBe(code);
    expect(await stage.db.prisma.connector.count()).toBe(count);
  });

  test('fails with a code that belongs to another authorization', async () => {
    const [first, second] = [consent.agree(await start(inputOf('xero'))), consent.agree(await start(inputOf('xero')))];
    const mixed = await finish({ state: first.state, code: second.code });
    expect(fieldErrors(mixed)).toEqual([{ pointer: '/code', message: expect.any(String) }]);
  });
});

test('types that the operator has no app for can’t be connected', async () => {
  const types = await stage.user.graphql<{ connectorTypes: { type: string; connectWith: string | null }[] }>(
    '{ connectorTypes { type connectWith } }',
  );
  const connectable = types.data!.connectorTypes.filter(({ connectWith }) => connectWith !== null);
  expect(Object.fromEntries(connectable.map(({ type, connectWith }) => [type, connectWith]))).toEqual({
    GOOGLE_SHEETS: 'Google',
    BIGQUERY: 'Google',
    SALESFORCE: 'Salesforce',
    XERO: 'Xero',
    QUICKBOOKS: 'QuickBooks',
  });
  const response = await stage.user.graphql(START, { input: { ...inputOf('xero'), type: 'SLACK' } });
  expect(fieldErrors(response)).toEqual([{ pointer: '/type', message: expect.stringContaining('can') }]);
});
