import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadKeyring } from '../../src/secrets/keyring.ts';
import { createSecretBox, type SecretBox } from '../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createConnector, createKey, createProject, GOOD, type Resource } from '../support/resources.ts';

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

let app: TestApp;
let pool: pg.Pool;
let secretBox: SecretBox;

beforeAll(async () => {
  app = await startTestApp();
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  secretBox = createSecretBox(await loadKeyring({ dataDir: app.dataDir }));
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

const post = (user: TestUser, base: string) => user.rest('POST', `${base}/connectors`, GOOD.connector);

describe('the tier limits connectors', () => {
  const LIMIT_REACHED = { status: 403, body: { code: 'CONNECTOR_LIMIT_REACHED' } };

  test('to none for a starter', async () => {
    const starter = await app.user('starter', 'STARTER');
    const { base } = await createProject(starter);
    expect(await post(starter, base)).toMatchObject(LIMIT_REACHED);
    const { body } = await starter.rest<{ detail: string }>('POST', `${base}/connectors`, GOOD.connector);
    expect(body.detail).toBe('Your tier includes no connectors. Move to a higher tier.');
  });

  test('to five in all projects together, of which a deleted one makes room for another', async () => {
    const pro = await app.user('pro', 'PRO');
    const [one, other] = [await createProject(pro), await createProject(pro)];
    const first = await createConnector(pro, one.base);
    for (const { base } of [one, other, other, other]) await createConnector(pro, base);
    for (const { base } of [one, other]) expect(await post(pro, base)).toMatchObject(LIMIT_REACHED);

    await pro.rest('DELETE', `${one.base}/connectors/${first.id}`);
    expect((await post(pro, other.base)).status).toBe(201);
    expect(await post(pro, one.base)).toMatchObject(LIMIT_REACHED);
  });

  test('of the owner when an API key creates them', async () => {
    const owner = await app.user('owner', 'PRO');
    const { base } = await createProject(owner);
    const { key } = await createKey(owner, base);
    for (let count = 0; count < 3; count++) await createConnector(owner, base);
    for (let count = 0; count < 2; count++) await createConnector(app.caller(key), base);
    expect(await post(app.caller(key), base)).toMatchObject(LIMIT_REACHED);
  });

  test('also when ten are created at once, in two projects and by two credentials', async () => {
    const racer = await app.user('racer', 'PRO');
    const [one, other] = [await createProject(racer), await createProject(racer)];
    const key = app.caller((await createKey(racer, other.base)).key);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => [post(racer, one.base), post(key, other.base)]).flat(),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(201), ...Array(5).fill(403)]);
  });
});

describe('a change of the config', () => {
  let alice: TestUser;
  let connector: Resource;
  let path: string;
  let projectId: string;

  beforeAll(async () => {
    alice = await app.user('alice', 'ENTERPRISE');
  });
  beforeEach(async () => {
    const project = await createProject(alice);
    projectId = project.id;
    connector = await createConnector(alice, project.base, { type: 'n8n', config: CONFIG });
    path = `${project.base}/connectors/${connector.id}`;
  });

  const patch = (config: unknown) => alice.rest<Resource>('PATCH', path, { config });

  /** The config as the connector will use it. */
  async function usedConfig(): Promise<unknown> {
    const sql = 'SELECT "secretConfig" FROM "Connector" WHERE "id" = $1';
    const { rows } = await pool.query<{ secretConfig: string }>(sql, [connector.id]);
    const cell = { table: 'Connector', column: 'secretConfig', rowId: connector.id, projectId };
    return JSON.parse(secretBox.open(rows[0]!.secretConfig, cell));
  }

  test('keeps what it leaves out', async () => {
    expect(connector.config).toEqual(SHOWN);
    const answer = await patch({ signingSecret: 'another-secret-of-mine' });
    expect(answer.body.config).toEqual({ ...SHOWN, signingSecret: '••••mine' });
    expect(await usedConfig()).toEqual({ ...CONFIG, signingSecret: 'another-secret-of-mine' });
  });

  test('keeps secrets that come back as they were shown', async () => {
    const answer = await patch({ ...SHOWN, authHeaderName: 'X-Other' });
    expect(answer).toMatchObject({ status: 200, body: { config: { ...SHOWN, authHeaderName: 'X-Other' } } });
    expect(await usedConfig()).toEqual({ ...CONFIG, authHeaderName: 'X-Other' });
  });

  test('does not take a mask that is not the one that was shown for a secret', async () => {
    const answer = await patch({ signingSecret: '••••another secret' });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/config/signingSecret' }] } });
    expect(await usedConfig()).toEqual(CONFIG);
  });

  test('removes optional fields that are null, and those alone', async () => {
    const answer = await patch({ authHeaderName: null, authHeaderValue: null });
    expect(answer.body.config).toEqual({ webhookUrl: SHOWN.webhookUrl, signingSecret: SHOWN.signingSecret });
    const { webhookUrl, signingSecret } = CONFIG;
    expect(await usedConfig()).toEqual({ webhookUrl, signingSecret });
  });

  test.each([
    ['a required field that is null', { webhookUrl: null }, '/config/webhookUrl'],
    ['an unknown field', { colour: 'red' }, '/config/colour'],
    ['an unknown field beside good ones', { authHeaderName: 'X-Other', 'a/b': 1 }, '/config/a~1b'],
    ['a wrong value', { authHeaderName: 'Host' }, '/config/authHeaderName'],
  ])('is refused with %s, and changes nothing', async (_name, config, pointer) => {
    const answer = await patch(config);
    expect(answer).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer }] } });
    expect(await usedConfig()).toEqual(CONFIG);
  });

  test('to nothing leaves all as it is', async () => {
    expect((await patch({})).body.config).toEqual(SHOWN);
    expect(await usedConfig()).toEqual(CONFIG);
  });

  test('of two at once loses neither', async () => {
    const answers = await Promise.all([patch({ authHeaderName: 'X-Other' }), patch({ signingSecret: null })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { signingSecret: _removed, ...others } = CONFIG;
    expect(await usedConfig()).toEqual({ ...others, authHeaderName: 'X-Other' });
  });
});
