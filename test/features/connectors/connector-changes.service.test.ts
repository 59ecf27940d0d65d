import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../src/connectors/definition.ts';
import { describeFields } from '../../../src/connectors/describe.ts';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { loadKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox, type SecretBox } from '../../../src/secrets/secret-box.ts';
import { MARK, sampleConfig } from '../../connectors/support/configs.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let secretBox: SecretBox;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  // Nothing must be sent to vendors.
  app = await startTestApp({ env: { ROLES: 'api', EGRESS_ALLOW: '' } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  secretBox = createSecretBox(await loadKeyring({ secretKeys: undefined, dataDir: app.dataDir }));
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

type Config = Record<string, unknown>;
const post = (body: object) => rest.send<Resource>(alice, 'POST', `${base}/connectors`, { body });
const patch = (id: string, body: object) => rest.send<Resource>(alice, 'PATCH', `${base}/connectors/${id}`, { body });
const bodyOf = (type: ConnectorType, config: Config = sampleConfig(type)) => ({ type, config, eventTypes: ['*'] });
const secretsOf = (type: ConnectorType) =>
  describeFields(getConnector(type)).flatMap(({ name, secret }) => (secret ? [name] : []));

/** Returns the config as deliveries use it. */
async function storedConfig(id: string): Promise<Config> {
  const { rows } = await pool.query('SELECT "secretConfig" FROM "Connector" WHERE "id" = $1', [id]);
  const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
  return JSON.parse(secretBox.open(rows[0].secretConfig, cell));
}

const CONFIG = {
  webhookUrl: 'https://n8n.example.com/webhook/0c4f5a2e-9d0b-4a53-9e3f-3d3d8e0a7b11',
  authHeaderName: 'X-Api-Key',
  authHeaderValue: 'Bearer value-of-the-header',
  signingSecret: 'secret-to-sign-with',
};
const SHOWN = {
  webhookUrl: '••••7b11',
  authHeaderName: 'X-Api-Key',
  authHeaderValue: '••••ader',
  signingSecret: '••••with',
};

describe("changing a connector's config", () => {
  let id: string;
  beforeEach(async () => {
    const { body } = await post(bodyOf('n8n', CONFIG));
    expect(body.config).toEqual(SHOWN);
    id = body.id;
  });

  const change = (config: unknown) => patch(id, { config });
  const shown = async () => (await rest.send(alice, 'GET', `${base}/connectors/${id}`)).body.config;

  test('keeps fields that the change leaves out', async () => {
    expect(await change({ signingSecret: 'another-secret-of-mine' })).toMatchObject({
      status: 200,
      body: { config: { ...SHOWN, signingSecret: '••••mine' } },
    });
    await change({ authHeaderName: 'X-Other' });
    expect(await shown()).toEqual({ ...SHOWN, authHeaderName: 'X-Other', signingSecret: '••••mine' });
    const expected = { ...CONFIG, authHeaderName: 'X-Other', signingSecret: 'another-secret-of-mine' };
    expect(await storedConfig(id)).toEqual(expected);
  });

  test('changes nothing if the new config is empty', async () => {
    expect((await change({})).body.config).toEqual(SHOWN);
    expect(await shown()).toEqual(SHOWN);
    expect(await storedConfig(id)).toEqual(CONFIG);
  });

  test('keeps a secret if its mask is sent back', async () => {
    const response = await change({ ...SHOWN, authHeaderName: 'X-Other' });
    expect(response).toMatchObject({ status: 200, body: { config: { ...SHOWN, authHeaderName: 'X-Other' } } });
    expect(await storedConfig(id)).toEqual({ ...CONFIG, authHeaderName: 'X-Other' });
  });

  test('rejects any other mask in place of a secret', async () => {
    for (const signingSecret of ['••••bbbb', '••••', `••••${MARK}`, '••••another secret']) {
      const response = await change({ signingSecret });
      const pointer = '/config/signingSecret';
      expect(response, signingSecret).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
    }
    expect(await storedConfig(id)).toEqual(CONFIG);
  });

  test('removes only the optional fields that are null', async () => {
    const response = await change({ authHeaderName: null, authHeaderValue: null });
    expect(response.body.config).toEqual({ webhookUrl: SHOWN.webhookUrl, signingSecret: SHOWN.signingSecret });
    expect(await shown()).toEqual(response.body.config);
    const { webhookUrl, signingSecret } = CONFIG;
    expect(await storedConfig(id)).toEqual({ webhookUrl, signingSecret });
  });

  test.each([
    ['a required field that is null', { webhookUrl: null }, ['/config/webhookUrl']],
    ['an unknown field', { colour: 'red' }, ['/config/colour']],
    ['an unknown field next to a valid one', { authHeaderName: 'X-Other', 'a/b': 1 }, ['/config/a~1b']],
    ['an invalid value', { authHeaderName: 'Host' }, ['/config/authHeaderName']],
    ['two errors', { authHeaderName: 'Host', colour: 1 }, ['/config/authHeaderName', '/config/colour']],
  ])('is rejected with %s and changes nothing', async (_name, config, expected) => {
    const { status, body } = await change(config);
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED']);
    expect((body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort()).toEqual(expected);
    expect(await storedConfig(id)).toEqual(CONFIG);
  });

  test('concurrently keeps all changes', async () => {
    const changes = [
      { authHeaderName: 'X-Other' },
      { signingSecret: null },
      { authHeaderValue: 'Bearer another-value' },
    ];
    const responses = await Promise.all(changes.map(change));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { signingSecret: _removed, ...others } = CONFIG;
    const expected = { ...others, authHeaderName: 'X-Other', authHeaderValue: 'Bearer another-value' };
    expect(await storedConfig(id)).toEqual(expected);
  });
});

test("a connector of any type can't be created with a mask in place of a secret", async () => {
  for (const type of CONNECTOR_TYPES) {
    for (const name of secretsOf(type)) {
      const response = await post(bodyOf(type, { ...sampleConfig(type), [name]: `••••${MARK.slice(-4)}` }));
      expect(response.status, `${type} ${name}`).toBe(422);
    }
  }
});

describe('a connector', () => {
  test('can’t change its type', async () => {
    const { id } = (await post(bodyOf('slack'))).body;
    for (const type of ['slack', 'discord']) {
      const answer = await patch(id, { type });
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/type' }] } });
    }
  });

  test('keeps its event types in order, each listed once', async () => {
    const body = { ...bodyOf('slack'), eventTypes: ['payment.failed', 'payment.settled', 'payment.failed'] };
    expect((await post(body)).body.eventTypes).toEqual(['payment.failed', 'payment.settled']);
  });

  test('is rejected if its type supports none of its event types', async () => {
    const supportsNothingOf = (type: ConnectorType, kind: string) =>
      !getConnector(type).supportsEvent(kind as 'payment.settled', new Set([kind as 'payment.settled']));
    expect(supportsNothingOf('xero', 'endpoint.created')).toBe(true);
    const refused = await post({ ...bodyOf('xero'), eventTypes: ['endpoint.created'] });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/eventTypes' }] } });

    const { id } = (await post(bodyOf('xero'))).body;
    const changed = await patch(id, { eventTypes: ['endpoint.created'] });
    expect(changed).toMatchObject({ status: 422, body: { errors: [{ pointer: '/eventTypes' }] } });
    expect((await patch(id, { eventTypes: ['endpoint.created', 'payment.settled'] })).status).toBe(200);
  });

  test('can be disabled and enabled, which clears the reason for disabling it', async () => {
    const { id } = (await post(bodyOf('slack'))).body;
    expect((await patch(id, { isActive: false })).body).toMatchObject({
      isActive: false,
      disabledReason: null,
      disabledAt: expect.any(String),
    });
    await pool.query(
      `UPDATE "Connector" SET "disabledReason" = 'gone', "failingSince" = now(), "pausedReason" = 'refused',
              "pausedAt" = now() WHERE "id" = $1`,
      [id],
    );
    expect((await patch(id, { isActive: true })).body).toMatchObject({
      isActive: true,
      disabledReason: null,
      disabledAt: null,
      failingSince: null,
      pausedReason: null,
      pausedAt: null,
    });
  });

  test('resumes with a new config and releases its held deliveries', async () => {
    const { id } = (await post(bodyOf('slack'))).body;
    await pool.query(`UPDATE "Connector" SET "pausedReason" = 'refused', "pausedAt" = now() WHERE "id" = $1`, [id]);
    await rest.send(alice, 'POST', `${base}/endpoints`, {
      body: { path: '/x', upstreamUrl: 'https://api.example.com/', priceUsd: '1' },
    });
    const deliveries = async () =>
      (await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/connectors/${id}/deliveries`)).body.data;
    expect(await deliveries()).toMatchObject([{ status: 'PENDING', reason: 'paused', nextAttemptAt: null }]);
    expect((await patch(id, { eventTypes: ['*'] })).body.pausedReason).toBe('refused');
    expect((await patch(id, { config: sampleConfig('slack') })).body.pausedReason).toBeNull();
    expect(await deliveries()).toMatchObject([{ status: 'PENDING', reason: null, nextAttemptAt: expect.any(String) }]);
  });
});

test('a connector that is disabled or does not support the event type gets a skipped delivery with the reason', async () => {
  const off = (await post(bodyOf('slack'))).body.id;
  await patch(off, { isActive: false });
  const other = (await post(bodyOf('xero'))).body.id;
  await rest.send(alice, 'POST', `${base}/endpoints`, {
    body: { path: '/x', upstreamUrl: 'https://api.example.com/', priceUsd: '1' },
  });
  const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries`);
  const byConnector = Object.fromEntries(body.data.map((delivery) => [delivery.connectorId, delivery]));
  expect(byConnector[off]).toMatchObject({ status: 'SKIPPED', reason: 'disabled', completedAt: expect.any(String) });
  expect(byConnector[other]).toMatchObject({ status: 'SKIPPED', reason: 'unsupported_event', nextAttemptAt: null });
});
