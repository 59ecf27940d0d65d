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
  // Nothing may be sent to vendors from here.
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

/** The config as deliveries will use it. */
async function storedConfig(id: string): Promise<Config> {
  const { rows } = await pool.query('SELECT "secretConfig" FROM "Connector" WHERE "id" = $1', [id]);
  const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
  return JSON.parse(secretBox.open(rows[0].secretConfig, cell));
}

describe('changing a config', () => {
  const make = async (type: ConnectorType, config: Config) => (await post(bodyOf(type, config))).body.id;
  /** What is stored, seen through what is shown: secrets by their last four characters. */
  const shown = async (id: string) => (await rest.send(alice, 'GET', `${base}/connectors/${id}`)).body.config as Config;

  test('leaves the fields that are not named', async () => {
    const id = await make('dune', { apiKey: `${MARK.slice(4)}aaaa`, table: 'first' });
    expect(await patch(id, { config: { table: 'second' } })).toMatchObject({
      status: 200,
      body: { config: { apiKey: '••••aaaa', table: 'second' } },
    });
    await patch(id, { config: { apiKey: `${MARK.slice(4)}bbbb` } });
    expect(await shown(id)).toEqual({ apiKey: '••••bbbb', table: 'second' });
    await patch(id, { config: {} });
    expect(await shown(id)).toEqual({ apiKey: '••••bbbb', table: 'second' });
  });

  test('takes a redacted value that is sent back for "unchanged"', async () => {
    const id = await make('dune', { apiKey: `${MARK.slice(4)}aaaa`, table: 'first' });
    const answer = await patch(id, { config: { apiKey: '••••aaaa', table: 'second' } });
    expect(answer.body.config).toEqual({ apiKey: '••••aaaa', table: 'second' });
    expect(await storedConfig(id)).toEqual({ apiKey: `${MARK.slice(4)}aaaa`, table: 'second' });
  });

  test('removes an optional field with null, and refuses to remove a required one', async () => {
    const id = await make('dune', { apiKey: `${MARK.slice(4)}aaaa`, table: 'first' });
    expect(await patch(id, { config: { apiKey: null } })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/config/apiKey' }] },
    });
    await patch(id, { config: { table: null } });
    expect(await shown(id)).not.toHaveProperty('table');
    expect(await shown(id)).toMatchObject({ apiKey: '••••aaaa' });
  });

  test('never stores what only stands for a secret', async () => {
    const id = await make('datadog', { apiKey: `${MARK.slice(4)}aaaa` });
    for (const apiKey of ['••••bbbb', '••••', `••••${MARK}`]) {
      const answer = await patch(id, { config: { apiKey } });
      expect(answer, apiKey).toMatchObject({ status: 422, body: { errors: [{ pointer: '/config/apiKey' }] } });
    }
    for (const type of CONNECTOR_TYPES) {
      for (const name of secretsOf(type)) {
        const answer = await post(bodyOf(type, { ...sampleConfig(type), [name]: `••••${MARK.slice(-4)}` }));
        expect(answer.status, `${type} ${name}`).toBe(422);
      }
    }
  });

  test('checks the whole of it again', async () => {
    const id = await make('datadog', { apiKey: `${MARK.slice(4)}aaaa` });
    const answer = await patch(id, { config: { site: 'evil.example', colour: 1 } });
    const pointers = (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort();
    expect(pointers).toEqual(['/config/colour', '/config/site']);
    expect(await storedConfig(id)).toMatchObject({ apiKey: `${MARK.slice(4)}aaaa` });
  });

  test('by several at once loses none of the changes', async () => {
    const id = await make('dune', { ...sampleConfig('dune'), namespace: 'first', table: 'first' });
    const changes = [{ namespace: 'second' }, { table: 'second' }, { apiKey: `${MARK.slice(4)}zzzz` }];
    const answers = await Promise.all(changes.map((config) => patch(id, { config })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const expected = { namespace: 'second', table: 'second', apiKey: `${MARK.slice(4)}zzzz` };
    expect(await storedConfig(id)).toMatchObject(expected);
  });
});

describe('beside its config', () => {
  test('the type cannot be changed', async () => {
    const { id } = (await post(bodyOf('slack'))).body;
    for (const type of ['slack', 'discord']) {
      const answer = await patch(id, { type });
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/type' }] } });
    }
  });

  test('the kinds of events are kept in order, each once', async () => {
    const body = { ...bodyOf('slack'), eventTypes: ['payment.failed', 'payment.settled', 'payment.failed'] };
    expect((await post(body)).body.eventTypes).toEqual(['payment.failed', 'payment.settled']);
  });

  test('kinds that the type never carries are refused', async () => {
    const carriesNothingOf = (type: ConnectorType, kind: string) =>
      !getConnector(type).carries(kind as 'payment.settled', new Set([kind as 'payment.settled']));
    expect(carriesNothingOf('xero', 'endpoint.created')).toBe(true);
    const refused = await post({ ...bodyOf('xero'), eventTypes: ['endpoint.created'] });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/eventTypes' }] } });

    const { id } = (await post(bodyOf('xero'))).body;
    const changed = await patch(id, { eventTypes: ['endpoint.created'] });
    expect(changed).toMatchObject({ status: 422, body: { errors: [{ pointer: '/eventTypes' }] } });
    expect((await patch(id, { eventTypes: ['endpoint.created', 'payment.settled'] })).status).toBe(200);
  });

  test('it can be switched off and on, and forgets why the service had done it', async () => {
    const { id } = (await post(bodyOf('slack'))).body;
    expect((await patch(id, { isActive: false })).body).toMatchObject({
      ...{ isActive: false, disabledReason: null },
      disabledAt: expect.any(String),
    });
    await pool.query(
      `UPDATE "Connector" SET "disabledReason" = 'gone', "failingSince" = now(), "pausedReason" = 'refused',
              "pausedAt" = now() WHERE "id" = $1`,
      [id],
    );
    expect((await patch(id, { isActive: true })).body).toMatchObject({
      ...{ isActive: true, disabledReason: null, disabledAt: null, failingSince: null },
      ...{ pausedReason: null, pausedAt: null },
    });
  });

  test('a new config lifts a pause and releases what was held', async () => {
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

test('a switched-off connector, and one that does not carry the kind, is passed over visibly', async () => {
  const off = (await post(bodyOf('slack'))).body.id;
  await patch(off, { isActive: false });
  const other = (await post(bodyOf('xero'))).body.id;
  await rest.send(alice, 'POST', `${base}/endpoints`, {
    body: { path: '/x', upstreamUrl: 'https://api.example.com/', priceUsd: '1' },
  });
  const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries`);
  const byConnector = Object.fromEntries(body.data.map((delivery) => [delivery.connectorId, delivery]));
  expect(byConnector[off]).toMatchObject({ status: 'SKIPPED', reason: 'disabled', completedAt: expect.any(String) });
  expect(byConnector[other]).toMatchObject({ status: 'SKIPPED', reason: 'not_carried', nextAttemptAt: null });
});
