import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../src/connectors/definition.ts';
import { listConnectors } from '../../../src/connectors/types/registry.ts';
import { N8N_HOST, SUPABASE_HOST, sampleConfig } from '../support/configs.ts';
import { openStage, type Stage } from './stage.ts';

type Problem = { code: string; errors: { pointer: string; message: string }[] };
type TestResult = { probe: { ok: boolean; message: string } | null; delivery: { id: string; status: string } | null };

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const create = (body: object) => stage.user.rest<Problem>('POST', `${stage.base}/connectors`, body);
const withProbe = listConnectors()
  .filter(({ probe }) => probe)
  .map(({ type }) => type);
const withoutProbe = CONNECTOR_TYPES.filter((type) => !withProbe.includes(type));

describe('a new connector', () => {
  test.each([
    ['hubspot', ['payment.settled', 'endpoint.created']],
    ['opsgenie', ['payment.settled']],
    ['opsgenie', ['endpoint.created', 'revenue.daily_summary']],
    ['pagerduty', ['payment.settled', 'payment.verified']],
    ['linear', ['payment.settled']],
    ['quickbooks', ['payment.verified', 'payment.failed']],
    ['xero', ['endpoint.created']],
  ] as const)('is rejected if its type (%s) could never send any of its event types', async (type, eventTypes) => {
    const answer = await create({ type, config: sampleConfig(type), eventTypes });
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ pointer: '/eventTypes' }] });

    const connector = await stage.connect(type);
    const changed = await stage.patch(connector.id, { eventTypes });
    expect(changed.status).toBe(422);
    expect(await stage.connector(connector.id)).toMatchObject({ eventTypes: ['*'] });
    await stage.patch(connector.id, { isActive: false });
  });

  test.each([
    'https://169.254.169.254/webhook/abc',
    'https://[::ffff:10.0.0.1]/webhook/abc',
    'https://n8n.example:22/webhook/abc',
    `https://${N8N_HOST}/webhook-test/abc`,
    `http://${N8N_HOST}/webhook/abc`,
  ])('is rejected if it has the type n8n and the URL %s', async (webhookUrl) => {
    const answer = await create({ type: 'n8n', config: { webhookUrl }, eventTypes: ['*'] });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ pointer: '/config/webhookUrl' }]);
  });

  test.each([
    'https://169.254.169.254',
    'https://10.0.0.1:8443',
    'https://supabase.example:22',
    'http://supabase.example',
  ])('is rejected if it has the type supabase and the URL %s', async (url) => {
    const answer = await create({ type: 'supabase', config: { url, apiKey: 'sb_secret_1' }, eventTypes: ['*'] });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ pointer: '/config/url' }]);
  });

  test('can send rows to a self-hosted Supabase server', async () => {
    const connector = await stage.connect('supabase', { config: { url: `https://${SUPABASE_HOST}/data/` } });
    await stage.record('payment.settled');
    await stage.deliveriesAre(connector.id, 'SUCCEEDED');
    const { url } = stage.vendors.callsTo('supabase').at(-1)!;
    expect(url.host + url.pathname).toBe(`${SUPABASE_HOST}/data/rest/v1/payment_events`);
    await stage.patch(connector.id, { isActive: false });
  });

  test('can have a Telegram chat ID that is a number', async () => {
    const connector = await stage.connect('telegram', { config: { chatId: -1001234567890 } });
    expect(connector.config.chatId).toBe('-1001234567890');
    await stage.record('payment.settled');
    await stage.deliveriesAre(connector.id, 'SUCCEEDED');
    expect(JSON.parse(stage.vendors.callsTo('telegram').at(-1)!.body).chat_id).toBe('-1001234567890');
    await stage.patch(connector.id, { isActive: false });
  });

  test('is rejected with what is wrong with each field', async () => {
    const config = { accountSid: 'x', from: 1, to: '', color: 'red' };
    const answer = await create({ type: 'twilio', config, eventTypes: ['*'] });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map(({ pointer }) => pointer).toSorted()).toEqual(
      [
        '/config/accountSid',
        '/config/authToken',
        '/config/color',
        '/config/from',
        '/config/to',
        '/config/to',
      ].toSorted(),
    );
  });
});

describe("changing a connector's config", () => {
  test('keeps fields that are omitted or sent back masked, and removes fields that are null', async () => {
    const connector = await stage.connect('n8n', {
      config: { authHeaderName: 'X-Key', authHeaderValue: 'a-secret-of-some-length' },
    });
    const shown = connector.config;
    expect(shown).toEqual({
      webhookUrl: `••••${connector.mark.slice(-4)}`,
      authHeaderName: 'X-Key',
      authHeaderValue: '••••ngth',
    });
    const renamed = await stage.patch(connector.id, { config: { ...shown, authHeaderName: 'X-Other' } });
    expect(renamed.body.config).toEqual({ ...shown, authHeaderName: 'X-Other' });
    await stage.record('endpoint.pricing_changed');
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    expect(stage.vendors.callsTo('n8n').at(-1)!.headers).toMatchObject({ 'x-other': 'a-secret-of-some-length' });

    const without = await stage.patch(connector.id, { config: { authHeaderName: null, authHeaderValue: null } });
    expect(without.body.config).toEqual({ webhookUrl: shown.webhookUrl });
    await stage.record('endpoint.pricing_changed');
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
    expect(stage.vendors.callsTo('n8n').at(-1)!.headers).not.toHaveProperty('x-other');

    const refused = await stage.patch(connector.id, { config: { webhookUrl: null } });
    expect(refused.status).toBe(422);
    expect(await stage.connector(connector.id)).toMatchObject({ config: { webhookUrl: shown.webhookUrl } });
  });

  test('works the same over GraphQL', async () => {
    const connector = await stage.connect('dune');
    const { data, errors } = await stage.user.graphql<{ updateConnector: { connector: { config: unknown } } }>(
      'mutation ($id: ID!) { updateConnector(input: { id: $id, config: { table: "sales" } }) { connector { config } } }',
      { id: connector.id },
    );
    expect(errors).toBeUndefined();
    expect(data!.updateConnector.connector.config).toEqual({ ...connector.config, table: 'sales' });
    const bad = await stage.user.graphql(
      'mutation ($id: ID!) { updateConnector(input: { id: $id, config: { table: "; DROP" } }) { connector { id } } }',
      { id: connector.id },
    );
    expect(bad.errors?.[0]?.extensions).toMatchObject({ code: 'VALIDATION_FAILED', field: '/config/table' });
  });
});

describe('the connection test', () => {
  test.each(withProbe)('checks the credentials of the type %s without sending anything', async (type) => {
    const connector = await stage.connect(type);
    const test = () => stage.user.rest<TestResult>('POST', `${stage.base}/connectors/${connector.id}/test`, {});
    const good = await test();
    expect(good.status).toBe(200);
    expect(good.body).toMatchObject({ probe: { ok: true }, delivery: null });
    stage.vendors.expire(connector.mark);
    const bad = await test();
    // Google never says whether the ID and the secret are valid.
    expect(bad.body.probe?.ok).toBe(type === 'ga4');
    expect(bad.body.probe?.message).not.toContain(connector.mark);
    expect(await stage.deliveries(connector.id)).toEqual([]);
  });

  test.each(withoutProbe)('sends an event marked as a test for the type %s', async (type) => {
    const connector = await stage.connect(type);
    const query =
      'mutation ($id: ID!) { testConnector(input: { id: $id }) { probe { ok } delivery { id status event { test } } } }';
    const { data } = await stage.user.graphql<{ testConnector: TestResult }>(query, { id: connector.id });
    expect(data!.testConnector).toMatchObject({ probe: null, delivery: { event: { test: true } } });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    expect(stage.vendors.callsTo(type).at(-1)!.body).toMatch(/\[Test\]|connector\.test/);
  });

  test('sends an event on request even if the type has a probe', async () => {
    const connector = await stage.connect('slack');
    const test = await stage.user.rest<TestResult>('POST', `${stage.base}/connectors/${connector.id}/test`, {
      eventType: 'customer.milestone',
    });
    expect(test.body).toMatchObject({ probe: null, delivery: { eventType: 'customer.milestone' } });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    expect(stage.vendors.callsTo('slack').at(-1)!.body).toContain('[Test] Customer milestone');
  });

  test("reports that the vendor can't be reached", async () => {
    const connector = await stage.connect('slack');
    stage.vendors.interfereNext('slack', (_call, response) => void response.destroy() as undefined);
    const test = await stage.user.rest<TestResult>('POST', `${stage.base}/connectors/${connector.id}/test`, {});
    expect(test.body.probe).toMatchObject({ ok: false, message: expect.stringMatching(/^.{10,}$/) });
  });
});

describe('the list of connector types', () => {
  test("has each vendor's limit", async () => {
    type Type = { type: string; vendorLimit: object | null };
    const { body } = await stage.user.rest<{ data: Type[] }>('GET', '/api/connector-types');
    const limitOf = (name: string) => body.data.find(({ type }) => type === name)?.vendorLimit;
    expect(limitOf('telegram')).toEqual({
      count: 20,
      perSeconds: 60,
      burst: 3,
      documentationUrl: 'https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this',
    });
    expect(limitOf('slack')).toMatchObject({ count: 1, perSeconds: 1, burst: 1 });
    expect(limitOf('email')).toBeNull();
    const declared = listConnectors().filter(({ vendorLimit }) => vendorLimit);
    expect(body.data.filter(({ vendorLimit }) => vendorLimit)).toHaveLength(declared.length);
  });

  test('is the same over REST and GraphQL and has everything a form needs', async () => {
    const rest = await stage.user.rest<{
      data: { type: ConnectorType; canProbe: boolean; eventTypes: string[]; fields: { name: string }[] }[];
    }>('GET', '/api/connector-types');
    expect(rest.body.data.map(({ type }) => type)).toEqual(CONNECTOR_TYPES);
    for (const { type, canProbe, fields } of rest.body.data) {
      expect(canProbe).toBe(withProbe.includes(type));
      expect(fields.map(({ name }) => name).toSorted()).toEqual(Object.keys(sampleConfig(type, 'all')).toSorted());
    }
    const settled = rest.body.data
      .filter(({ eventTypes }) => eventTypes.includes('payment.settled'))
      .map(({ type }) => type);
    expect(CONNECTOR_TYPES.filter((type) => !settled.includes(type))).toEqual(['hubspot', 'linear']);

    const { data } = await stage.user.graphql<{ connectorTypes: { title: string; fields: { name: string }[] }[] }>(
      '{ connectorTypes { title fields { name title description kind required secret decidesAddress choices example } } }',
    );
    expect(data!.connectorTypes.map(({ fields }) => fields)).toEqual(rest.body.data.map(({ fields }) => fields));
  });
});
