import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../../support/app.ts';
import { pace } from '../../../support/pace.ts';
import { type Receiver, startReceiver } from '../../../support/receiver.ts';
import {
  createConnector,
  createEndpoint,
  createProject,
  createWebhook,
  type Resource,
} from '../../../support/resources.ts';
import { openRest, type Rest } from '../../../support/rest.ts';
import { runShell } from '../../../support/run-shell.ts';

type Explanation = {
  [name: string]: unknown;
  summary: string;
  curl: string;
  remainingTries: { afterSeconds: number | null; expectedAt: string | null }[];
  lastAttempt: Record<string, unknown>;
};

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let sql: pg.Pool;
let receiver: Receiver;
let base: string;

beforeAll(async () => {
  app = await startTestApp({ hostOverrides: { 'api.telegram.org': 'http://127.0.0.1:1' } });
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});
beforeEach(async () => {
  receiver = await startReceiver();
  ({ base } = await createProject(alice));
  return () => receiver.close();
});

const read = async (id: string) => (await rest.send<Resource>(alice, 'GET', `${base}/deliveries/${id}`)).body;
const explain = async (id: string) =>
  (await rest.send<Explanation>(alice, 'GET', `${base}/deliveries/${id}/explain`)).body;

/** Records an event and returns the ID of its delivery to a webhook or connector. */
async function deliveryTo(kind: 'webhooks' | 'connectors', id: string, fields: object = {}): Promise<string> {
  await createEndpoint(alice, base, { ...fields });
  const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/${kind}/${id}/deliveries`);
  return body.data[0]!.id;
}

const change = (id: string, assignments: string) =>
  sql.query(`UPDATE "Delivery" SET ${assignments} WHERE "id" = $1`, [id]);

describe('an attempt', () => {
  test('keeps the time of each phase and both sets of headers, without credentials', async () => {
    receiver.handle(() => ({
      headers: { 'x-trace': 'abc', 'set-cookie': 'session=secret', 'x-long': 'x'.repeat(3_000) },
      body: 'ok',
    }));
    const webhook = await createWebhook(alice, base, { url: `${receiver.url}/in?token=1` });
    const id = await deliveryTo('webhooks', webhook.id);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const [attempt] = (await read(id)).attempts as Record<string, unknown>[];
    expect(attempt).toMatchObject({
      connectMs: expect.any(Number),
      firstByteMs: expect.any(Number),
      dnsMs: null,
      tlsMs: null,
      requestMethod: 'POST',
      requestUrl: `${receiver.url}/in?token=••••`,
      requestHeaders: {
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'user-agent': expect.stringMatching(/^Tollgate\//),
        'tollgate-payload-version': '1',
        'webhook-id': expect.stringMatching(/^evt_/),
        'webhook-timestamp': receiver.requests[0]!.headers['webhook-timestamp'],
        'webhook-signature': '••••',
      },
      responseHeaders: { 'x-trace': 'abc', 'x-long': 'x'.repeat(1_024) },
    });
    expect(JSON.stringify(attempt)).not.toContain('session=secret');
    const shown = new Set(Object.keys(attempt!.requestHeaders as object));
    const sent = Object.keys(receiver.requests[0]!.headers).filter((name) => !shown.has(name));
    expect(sent.toSorted()).toEqual(['connection', 'content-length', 'host']);
  });

  test("does not keep the secret in a connector's URL", async () => {
    const botToken = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1';
    const config = { botToken, chatId: '-1001234567890' };
    const connector = await createConnector(alice, base, { type: 'telegram', config });
    const id = await deliveryTo('connectors', connector.id);
    await expect.poll(() => read(id)).toMatchObject({ errorClass: 'connection_refused' });
    const explanation = await explain(id);
    expect(explanation.lastAttempt).toMatchObject({
      requestUrl: expect.stringMatching(/^https:\/\/api\.telegram\.org\/bot••••\/sendMessage$/),
    });
    expect(JSON.stringify(explanation)).not.toContain('AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1');
    expect(explanation.curl).toContain('"$BOT_TOKEN"');
    expect(explanation).toMatchObject({
      destination: { title: 'Telegram', isActive: true },
      curlVariables: [{ name: 'BOT_TOKEN', description: expect.any(String) }],
    });
    expect(JSON.parse(String(explanation.requestBody))).toMatchObject({ chat_id: config.chatId });
  });
});

describe('the explanation of a delivery', () => {
  test('has a command that sends the same request with a new signature', async () => {
    const webhook = await createWebhook(alice, base, { url: `${receiver.url}/in` });
    const id = await deliveryTo('webhooks', webhook.id, { description: `it's "$(quoted)" \`x\` \\ 👩‍👩‍👧` });
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const explanation = await explain(id);
    expect(explanation).toMatchObject({
      deliveryId: id,
      status: 'SUCCEEDED',
      advice: null,
      remainingTries: [],
      summary: expect.stringMatching(
        /^The event was delivered on attempt 1\. The destination returned 200 after \d+ ms\.$/,
      ),
      destination: { id: webhook.id, title: 'webhook', isActive: true, isSlowedDown: false },
    });
    const result = await runShell(explanation.curl, { WEBHOOK_SECRET: webhook.secret });
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('200 OK') });
    const [first, second] = receiver.requests;
    expect(second!.body.equals(first!.body)).toBe(true);
    expect(explanation.requestBody).toBe(first!.body.toString());
    const changing = { 'webhook-timestamp': '', 'webhook-signature': '', connection: '' };
    expect({ ...second!.headers, ...changing }).toEqual({ ...first!.headers, ...changing });
    new Webhook(webhook.secret).verify(second!.body.toString(), second!.headers as Record<string, string>);
  });

  test('says when it will be retried, how many retries are left, and what to do', async () => {
    receiver.handle(() => ({ statusCode: 503 }));
    const webhook = await createWebhook(alice, base, { url: receiver.url });
    const id = await deliveryTo('webhooks', webhook.id);
    await expect.poll(() => read(id)).toMatchObject({ status: 'PENDING', statusCode: 503 });
    await change(id, `"nextAttemptAt" = now() + interval '5 minutes', "retryStep" = 2`);
    const { nextAttemptAt } = await read(id);
    const explanation = await explain(id);
    expect(explanation).toMatchObject({
      summary: 'The last attempt failed: the destination returned 503.',
      next: `It will be retried in about 5 minutes, at ${nextAttemptAt}.`,
      advice: expect.stringContaining('Check its logs'),
      slowestPhaseMs: expect.any(Number),
    });
    expect(explanation.remainingTries.map(({ afterSeconds }) => afterSeconds)).toEqual([
      ...[null, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400],
    ]);
    const [due, later] = explanation.remainingTries.map(({ expectedAt }) => Date.parse(expectedAt!));
    expect(due).toBe(Date.parse(String(nextAttemptAt)));
    expect(later! - due!).toBe(1_800_000);
  });

  test('shows waiting as the slowest phase if the response was slow', async () => {
    const stalled = await startReceiver(async () => {
      await pace(1_000);
      return {};
    });
    const webhook = await createWebhook(alice, base, { url: stalled.url });
    const id = await deliveryTo('webhooks', webhook.id);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await explain(id)).toMatchObject({ slowestPhase: 'first_byte', slowestPhaseMs: expect.any(Number) });
    await stalled.close();
  });

  const at = (status: string, reason: string | null, rest = '') =>
    `"status" = '${status}', "reason" = ${reason === null ? 'NULL' : `'${reason}'`}, "nextAttemptAt" = NULL${rest}`;

  test.each([
    [
      at('FAILED', 'exhausted'),
      {
        summary: expect.stringContaining('Every scheduled retry failed'),
        next: 'No further automatic retries.',
      },
    ],
    [
      at('FAILED', 'gone'),
      { summary: expect.stringContaining('410 Gone'), advice: expect.stringContaining('enable the webhook') },
    ],
    [at('SKIPPED', 'disabled'), { summary: expect.stringContaining('was disabled') }],
    [at('SKIPPED', 'restored'), { summary: expect.stringContaining('restored a backup') }],
    [at('SKIPPED', 'unsupported_event'), { summary: expect.stringContaining('does not support this event type') }],
    [at('SKIPPED', 'filtered'), { summary: expect.stringContaining('does not match the destination') }],
    [
      at('SKIPPED', 'Slack has no message for this event'),
      { summary: 'The event was not sent: Slack has no message for this event.' },
    ],
    [
      at('RUNNING', null, `, "leasedUntil" = now() + interval '9 s'`),
      { summary: 'The event is being sent right now.' },
    ],
    [
      at('PENDING', 'ordering'),
      {
        summary: expect.stringContaining('an earlier event for the same payment'),
        next: expect.stringContaining('the earlier delivery succeeds, fails'),
      },
    ],
    [at('PENDING', 'paused'), { summary: expect.stringContaining('The delivery is held') }],
  ])('agrees with the columns of the delivery: %s', async (assignments, expected) => {
    const webhook = await createWebhook(alice, base, { url: receiver.url });
    const id = await deliveryTo('webhooks', webhook.id);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    await change(id, assignments);
    expect(await explain(id)).toMatchObject(expected);
  });

  test('says that it will be retried if its worker was killed', async () => {
    const webhook = await createWebhook(alice, base, { url: receiver.url });
    const id = await deliveryTo('webhooks', webhook.id);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhook.id}`, { body: { isActive: false } });
    await change(id, `"status" = 'PENDING', "nextAttemptAt" = now() + interval '1 h', "errorClass" = 'interrupted'`);
    expect(await explain(id)).toMatchObject({
      summary: 'The delivery is waiting, but its webhook is disabled.',
      destination: { isActive: false },
    });
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhook.id}`, { body: { isActive: true } });
    expect(await explain(id)).toMatchObject({
      summary: expect.stringContaining('The worker stopped while sending'),
      advice: expect.stringContaining('webhook-id'),
    });
  });

  test('says that a destination with an open circuit is slowed down', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await createWebhook(alice, base, { url: receiver.url });
    for (let count = 0; count < 4; count++) await createEndpoint(alice, base);
    const id = await deliveryTo('webhooks', webhook.id);
    await expect
      .poll(() => explain(id))
      .toMatchObject({ destination: { isSlowedDown: true, failingSince: expect.any(String) } });
  });

  test("is the same over GraphQL, and null for other users' deliveries", async () => {
    const webhook = await createWebhook(alice, base, { url: receiver.url });
    const id = await deliveryTo('webhooks', webhook.id);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const query = `query ($id: ID!) { node(id: $id) { ... on Delivery { explanation { summary curl } } } }`;
    const { data } = await alice.graphql<{ node: { explanation: object } }>(query, { id });
    const { summary, curl } = await explain(id);
    expect(data!.node.explanation).toEqual({ summary, curl });
    const bob = await app.user('bob');
    expect((await bob.graphql(query, { id })).data).toEqual({ node: null });
    expect((await rest.send(bob, 'GET', `${base}/deliveries/${id}/explain`)).status).toBe(404);
  });
});
