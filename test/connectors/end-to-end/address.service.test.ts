import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../src/connectors/definition.ts';
import { describeFields } from '../../../src/connectors/describe.ts';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { caller, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createKey, EVERY_SCOPE } from '../../support/resources.ts';
import { OTHER_ADDRESSES, sampleConfig } from '../support/configs.ts';
import { openStage, type Stage } from './stage.ts';

type Config = Record<string, unknown>;
type Answered = { code?: string; errors: { pointer: string; message: string }[]; config: Config };

let stage: Stage;
/** Responds at every address that connectors are moved to. */
let elsewhere: Receiver;
/** A program with an API key that can edit the project's connectors. */
let keyHolder: TestUser;

beforeAll(async () => {
  elsewhere = await startReceiver();
  const urls = Object.values(OTHER_ADDRESSES)
    .flatMap(Object.values)
    .filter((value) => URL.canParse(value));
  stage = await openStage(
    {},
    { hostOverrides: Object.fromEntries(urls.map((url) => [new URL(url).host, elsewhere.url])) },
  );
  const { key } = await createKey(stage.user, stage.base, EVERY_SCOPE);
  keyHolder = caller(stage.app.url, 'key', key);
});
afterAll(async () => {
  await stage?.close();
  await elsewhere?.close();
});

const change = (id: string, config: Config) =>
  keyHolder.rest<Answered>('PATCH', `${stage.base}/connectors/${id}`, { config });
const pick = (config: Config, names: readonly string[]) =>
  Object.fromEntries(names.filter((name) => name in config).map((name) => [name, config[name]]));
const secretsOf = (type: ConnectorType) =>
  describeFields(getConnector(type)).flatMap(({ name, secret }) => (secret ? [name] : []));

/** Expects errors for exactly these fields. */
function expectAskedFor({ status, body }: Awaited<ReturnType<typeof change>>, names: readonly string[]): void {
  expect({ status, pointers: body.errors?.map(({ pointer }) => pointer).toSorted() }).toEqual({
    status: 422,
    pointers: names.map((name) => `/config/${name}`).toSorted(),
  });
}

describe('a new address without its secrets', () => {
  const CASES: [ConnectorType, Config, string[]][] = [
    ['n8n', { authHeaderName: 'X-Key', authHeaderValue: 'the-secret-of-the-workflow' }, ['authHeaderValue']],
    ['supabase', {}, ['apiKey']],
    ['salesforce', {}, ['accessToken']],
  ];

  test.each(CASES)(
    'is rejected for a connector of type %s, which keeps sending to the old address',
    async (type, more, secrets) => {
      const connector = await stage.connect(type, { config: more });
      expectAskedFor(await change(connector.id, OTHER_ADDRESSES[type]!), secrets);
      // A masked secret counts as omitted.
      expectAskedFor(await change(connector.id, { ...connector.config, ...OTHER_ADDRESSES[type] }), secrets);
      expect((await stage.connector(connector.id)).config).toEqual(connector.config);

      const before = stage.vendors.callsTo(type).length;
      const eventType = 'payment.settled';
      await keyHolder.rest('POST', `${stage.base}/connectors/${connector.id}/test`, {});
      await keyHolder.rest('POST', `${stage.base}/connectors/${connector.id}/test`, { eventType });
      await expect.poll(() => stage.vendors.callsTo(type).length).toBeGreaterThan(before + 1);
      expect(elsewhere.requests).toEqual([]);
      await stage.patch(connector.id, { isActive: false });
    },
  );

  test('is also rejected over GraphQL', async () => {
    const connector = await stage.connect('supabase');
    const { errors } = await keyHolder.graphql(
      'mutation ($id: ID!, $config: JSON!) { updateConnector(input: { id: $id, config: $config }) { connector { id } } }',
      { id: connector.id, config: OTHER_ADDRESSES.supabase },
    );
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'VALIDATION_FAILED', field: '/config/apiKey' });
    expect((await stage.connector(connector.id)).config).toEqual(connector.config);
    await stage.patch(connector.id, { isActive: false });
  });

  test('is accepted if the secret is also removed, or if none is stored', async () => {
    const { id } = await stage.connect('n8n', { config: { authHeaderValue: 'the-secret-of-the-workflow' } });
    await stage.patch(id, { isActive: false });
    expect((await change(id, { ...OTHER_ADDRESSES.n8n, authHeaderValue: null })).status).toBe(200);
    expect((await change(id, { webhookUrl: 'https://elsewhere.example/webhook/another' })).status).toBe(200);
  });
});

const ADDRESSES = CONNECTOR_TYPES.flatMap((type) =>
  Object.keys(OTHER_ADDRESSES[type] ?? {}).map((name) => [type, name] as const),
);

test.each(ADDRESSES)(
  'a connector of type %s can change its %s only if the request includes all its secrets',
  async (type, name) => {
    const connector = await stage.connect(type, { config: sampleConfig(type, 'entered') });
    await stage.patch(connector.id, { isActive: false });
    const home = sampleConfig(type, 'required')[name] ?? null;
    const full = sampleConfig(type, 'entered', stage.newMark());
    const secrets = secretsOf(type).filter((secret) => secret !== name && secret in full);
    // Samples use the other host, so first go back to the default.
    expect((await change(connector.id, { ...pick(full, secrets), [name]: home })).status).toBe(200);
    const shown = (await stage.connector(connector.id)).config;

    const moved = OTHER_ADDRESSES[type]!;
    for (const missing of secrets) {
      const others = pick(
        full,
        secrets.filter((secret) => secret !== missing),
      );
      expectAskedFor(await change(connector.id, { ...moved, ...others }), [missing]);
    }
    if (secrets.length > 0) expectAskedFor(await change(connector.id, moved), secrets);
    expect((await stage.connector(connector.id)).config).toEqual(shown);
    expect((await change(connector.id, { ...moved, ...pick(full, secrets) })).status).toBe(200);

    // Saving the same address again doesn't count as a change, but changing it back does, even by removing the field.
    expect((await change(connector.id, moved)).status).toBe(200);
    if (secrets.length > 0) expectAskedFor(await change(connector.id, { [name]: home }), secrets);
  },
);
