import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../src/connectors/definition.ts';
import { describeFields } from '../../../src/connectors/describe.ts';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { enumName } from '../../../src/schema/scalars.ts';
import { MARK, sampleConfig } from '../../connectors/support/configs.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createConnector, createKey, createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  // Nothing must be sent to vendors.
  app = await startTestApp({ env: { ROLES: 'api', EGRESS_ALLOW: '' } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
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
const post = (body: object, as: { token: string } = alice, at = base) =>
  rest.send<Resource>(as, 'POST', `${at}/connectors`, { body });
const bodyOf = (type: ConnectorType, config: Config = sampleConfig(type)) => ({ type, config, eventTypes: ['*'] });
const secretsOf = (type: ConnectorType) =>
  describeFields(getConnector(type)).flatMap(({ name, secret }) => (secret ? [name] : []));

describe.each(CONNECTOR_TYPES)('%s', (type) => {
  test('is created with a valid config and shows everything but its secrets', async () => {
    const config = sampleConfig(type, 'entered');
    const created = await post(bodyOf(type, config));
    expect(created.status, created.text).toBe(201);
    const shown = created.body.config as Config;
    expect(Object.keys(shown).sort()).toEqual(Object.keys(config).sort());
    for (const name of Object.keys(config)) {
      if (secretsOf(type).includes(name)) expect(shown[name]).toMatch(/^••••.{0,4}$/u);
      else expect(shown[name]).toEqual(config[name]);
    }
    expect(secretsOf(type)).not.toEqual([]);
    const list = await rest.send(alice, 'GET', `${base}/connectors`);
    for (const text of [created.text, list.text]) expect(text).not.toContain(MARK);
  });

  test('is created the same way through GraphQL', async () => {
    const { data, errors } = await alice.graphql<{ createConnector: { connector: Config } }>(
      `mutation ($input: CreateConnectorInput!) {
         createConnector(input: $input) { connector { id type config eventTypes } } }`,
      { input: { projectId, type: enumName(type), config: sampleConfig(type), eventTypes: ['ALL'] } },
    );
    expect(errors).toBeUndefined();
    const { connector } = data!.createConnector;
    expect(connector).toMatchObject({ type: enumName(type), eventTypes: ['ALL'] });
    const { body } = await rest.send(alice, 'GET', `${base}/connectors/${connector.id}`);
    expect(body).toMatchObject({ id: connector.id, type, config: connector.config, eventTypes: ['*'] });
  });

  test('requires each required field and rejects unknown fields', async () => {
    const config = sampleConfig(type);
    for (const name of Object.keys(config)) {
      const { [name]: _left, ...others } = config;
      for (const broken of [
        others,
        { ...config, [name]: null },
        { ...config, [name]: {} },
        { ...config, [name]: '' },
      ]) {
        const response = await post(bodyOf(type, broken));
        expect(response.status, `${name} ${response.text}`).toBe(422);
        const pointers = (response.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
        expect(pointers.some((pointer) => pointer.startsWith(`/config/${name}`))).toBe(true);
      }
    }
    const surplus = await post(bodyOf(type, { ...config, colour: 'red' }));
    expect(surplus).toMatchObject({ status: 422, body: { errors: [{ pointer: '/config/colour' }] } });
  });

  test('stores its secrets encrypted', async () => {
    const { body } = await post(bodyOf(type, sampleConfig(type, 'entered')));
    const { rows } = await pool.query('SELECT t::text AS row, "secretConfig" FROM "Connector" t WHERE "id" = $1', [
      body.id,
    ]);
    expect(rows[0].row).not.toContain(MARK);
    expect(rows[0].row).not.toContain(Buffer.from(MARK).toString('base64').slice(0, 24));
    expect(rows[0].secretConfig).toMatch(/^v1\./);
  });
});

describe('the connector limit', () => {
  const slack = bodyOf('slack');

  test('allows no connectors on the STARTER tier', async () => {
    const starter = await app.user('starter', 'STARTER');
    const project = await createProject(starter);
    const response = await post(slack, starter, project.base);
    expect(response).toMatchObject({
      status: 403,
      body: {
        code: 'CONNECTOR_LIMIT_REACHED',
        detail: "Your tier doesn't include connectors. Upgrade to a higher tier.",
      },
    });
    const { errors } = await starter.graphql(
      `mutation ($input: CreateConnectorInput!) { createConnector(input: $input) { connector { id } } }`,
      { input: { projectId: project.id, type: 'SLACK', config: slack.config, eventTypes: ['ALL'] } },
    );
    expect(errors).toMatchObject([{ extensions: { code: 'CONNECTOR_LIMIT_REACHED' } }]);
  });

  test('allows five on the PRO tier across all projects, including with API keys, and one more after a deletion', async () => {
    const pro = await app.user('pro', 'PRO');
    const [one, two] = [await createProject(pro), await createProject(pro)];
    const key = app.caller((await createKey(pro, two.base)).key);
    const made = [];
    for (let index = 0; index < 5; index++) {
      const response = index % 2 ? await post(slack, key, two.base) : await post(slack, pro, one.base);
      expect(response.status).toBe(201);
      made.push(response.headers.get('location')!);
    }
    for (const [caller, at] of [
      [pro, one.base],
      [pro, two.base],
      [key, two.base],
    ] as const) {
      expect(await post(slack, caller, at)).toMatchObject({ status: 403, body: { code: 'CONNECTOR_LIMIT_REACHED' } });
    }
    // Validation happens before the limit is checked.
    expect((await post({ ...slack, config: {} }, pro, one.base)).status).toBe(422);
    expect((await rest.send(pro, 'DELETE', made[0]!)).status).toBe(204);
    expect((await post(slack, key, two.base)).status).toBe(201);
    expect((await post(slack, key, two.base)).status).toBe(403);
    expect((await post(slack, pro, one.base)).status).toBe(403);
  });

  test('applies to concurrent requests from a user and an API key in two projects and on two nodes', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir, env: { ROLES: 'api' } });
    try {
      const nodes = [rest, await openRest(other)];
      const pro = await app.user('greedy', 'PRO');
      const projects = await Promise.all([createProject(pro), createProject(pro)]);
      const callers = [pro, app.caller((await createKey(pro, projects[1]!.base)).key)];
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const project = index % 2;
          const node = nodes[Math.floor(index / 2) % 2]!;
          return node.send(callers[project], 'POST', `${projects[project]!.base}/connectors`, { body: slack });
        }),
      );
      const statuses = responses.map(({ status }) => status).toSorted();
      expect(statuses).toEqual([...Array(5).fill(201), ...Array(15).fill(403)]);
    } finally {
      await other.stop();
    }
  });

  test('drops with the tier, but existing connectors are kept', async () => {
    const pro = await app.user('falling', 'PRO');
    const project = await createProject(pro);
    const { id } = await createConnector(pro, project.base);
    const starter = await app.user('falling', 'STARTER');
    expect((await rest.send(starter, 'GET', `${project.base}/connectors/${id}`)).status).toBe(200);
    expect((await post(slack, starter, project.base)).status).toBe(403);
  });
});
