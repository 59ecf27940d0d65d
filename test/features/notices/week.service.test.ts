import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../delivery/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createConnector, createEndpoint, createProject, createWebhook } from '../../support/resources.ts';
import { sentTypes } from './support.ts';

const SUPABASE_HOST = 'abcdefghijklmnopqrst.supabase.co';
const SLACK_URL = 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx';
/** Short waits, with more retries than are needed in one night. */
const RETRIES = Array.from({ length: 200 }, () => 0.2);

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let contact: Receiver;
const vendors: Record<'webhook' | 'slack' | 'supabase', Receiver> = {} as never;

beforeAll(async () => {
  contact = await startReceiver();
  for (const name of ['webhook', 'slack', 'supabase'] as const) vendors[name] = await startReceiver(UP[name]);
  app = await startTestApp({
    hostOverrides: { 'hooks.slack.com': vendors.slack.url, [SUPABASE_HOST]: vendors.supabase.url },
    delivery: { retryScheduleSeconds: RETRIES },
  });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
  for (const receiver of [contact, ...Object.values(vendors)]) await receiver?.close();
});

/** Each destination's response while it works. */
const UP = {
  webhook: () => ({}),
  slack: () => ({ body: 'ok' }),
  supabase: () => ({ statusCode: 201 }),
};

/** Moves the notices and messages into the past, as if this much time had passed. */
async function letPass(interval: string): Promise<void> {
  await sql.query(`UPDATE "Notice" SET "dueAt" = "dueAt" - $1::interval, "closedAt" = "closedAt" - $1::interval`, [
    interval,
  ]);
  await sql.query(`UPDATE "NoticeContacts" SET "nextMessageAt" = "nextMessageAt" - $1::interval`, [interval]);
}

test('a week with a night of failures, a revoked key, and a dropped table causes five messages, and every event arrives', async () => {
  const { id: projectId, base } = await createProject(alice, { gatewayHost: 'api.weather.example' });
  const events = new Set<string>();
  /** Records an event, which goes to every destination. */
  const happen = async (count: number) => {
    for (let index = 0; index < count; index++) await createEndpoint(alice, base);
    const { rows } = await sql.query('SELECT "id" FROM "Event" WHERE "projectId" = $1', [projectId]);
    for (const { id } of rows) events.add(id);
  };
  const noticeIs = (type: string, isOpen: boolean) =>
    until(
      async () => {
        const { body } = await alice.rest<{ data: { type: string }[] }>('GET', `${base}/notices?isOpen=${isOpen}`);
        return body.data.some((notice) => notice.type === type);
      },
      () => `${type} to be ${isOpen ? 'open' : 'over'}`,
    );
  const allDelivered = () =>
    until(
      async () => {
        const open = `SELECT count(*)::int AS n FROM "Delivery" WHERE "projectId" = $1 AND "outcome" IS DISTINCT FROM 'SUCCEEDED'`;
        return (await sql.query(open, [projectId])).rows[0].n === 0;
      },
      () => 'every delivery to succeed',
    );

  await alice.rest('PATCH', `${base}/contacts`, { webhookUrl: contact.url });
  await createWebhook(alice, base, { url: vendors.webhook.url });
  const slack = await createConnector(alice, base, { type: 'slack', config: { webhookUrl: SLACK_URL } });
  const supabase = await createConnector(alice, base, {
    type: 'supabase',
    config: { url: `https://${SUPABASE_HOST}`, apiKey: 'sb_secret_0123456789', table: 'events' },
  });

  // Monday: everything works.
  await happen(2);
  await allDelivered();

  // Monday night: the receiver goes down, and comes back on Tuesday morning.
  vendors.webhook.handle(() => ({ statusCode: 503 }));
  await happen(3);
  await noticeIs('destination.failing', true);
  await letPass('5 minutes');
  await contact.waitFor(1);
  vendors.webhook.handle(UP.webhook);
  await noticeIs('destination.recovered', false);
  await letPass('8 hours');
  await contact.waitFor(2);

  // Wednesday: someone revokes the Slack webhook. The owner creates a new one.
  await letPass('1 day');
  vendors.slack.handle(() => ({ statusCode: 403, body: 'invalid_token' }));
  await happen(2);
  await contact.waitFor(3);
  vendors.slack.handle(UP.slack);
  const webhookUrl = SLACK_URL.replace('abcdef', 'uvwxyz');
  expect((await alice.rest('PATCH', `${base}/connectors/${slack.id}`, { config: { webhookUrl } })).status).toBe(200);
  await noticeIs('destination.paused', false);

  // Thursday: someone drops the table. The owner creates it again and resumes the connector, which held its deliveries.
  await letPass('1 day');
  vendors.supabase.handle(() => ({ statusCode: 404, body: JSON.stringify({ code: 'PGRST205', message: 'No table' }) }));
  await happen(2);
  await contact.waitFor(4);
  vendors.supabase.handle(UP.supabase);
  await alice.rest('PATCH', `${base}/connectors/${supabase.id}`, { isPaused: false });
  await allDelivered();

  // Friday: the owner gives up the host. This notice is in the next message, so no other messages were sent in between.
  await letPass('1 day');
  await alice.rest('PATCH', base, { gatewayHost: null });
  await contact.waitFor(5);
  expect(sentTypes(contact.requests)).toEqual([
    ['destination.failing'],
    ['destination.recovered'],
    ['destination.paused'],
    ['destination.paused'],
    ['host.lost'],
  ]);
  const { body: open } = await alice.rest<{ data: unknown[] }>('GET', `${base}/notices?isOpen=true`);
  expect(open.data).toEqual([]);

  expect(events.size).toBe(9);
  for (const [name, { requests }] of Object.entries(vendors)) {
    const bodies = requests.map(({ body }) => body.toString()).join('\n');
    expect(
      [...events].filter((id) => !bodies.includes(id)),
      name,
    ).toEqual([]);
  }
});
