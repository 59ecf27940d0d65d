import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SAMPLE_PAYLOADS } from '../../src/events/samples.ts';
import { newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createNotice } from '../support/notices.ts';
import { insertPayment } from '../support/payments.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  type Resource,
} from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

const PAST = '2020-01-01T00:00:00Z';
const FUTURE = '2999-01-01T00:00:00Z';

let app: TestApp;
let sql: pg.Pool;
let rest: Rest;
let alice: TestUser;
let base: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
  const project = await createProject(alice);
  base = project.base;
  ids.project = project.id;
  ids.active = (await createWebhook(alice, base)).id;
  ids.disabled = (await createWebhook(alice, base, { url: 'https://hooks.example.com/two' })).id;
  await alice.rest('PATCH', `${base}/webhooks/${ids.disabled}`, { isActive: false });
  ids.slack = (await createConnector(alice, base)).id;
  ids.n8n = (
    await createConnector(alice, base, { type: 'n8n', config: { webhookUrl: 'https://n8n.example.com/webhook/x' } })
  ).id;
  await alice.rest('PATCH', `${base}/connectors/${ids.n8n}`, { isPaused: true });
  ids.endpoint = (await createEndpoint(alice, base, { path: '/v1/weather' })).id;
  ids.other = (await createEndpoint(alice, base, { path: '/v_/tides' })).id;
  await alice.rest('PATCH', `${base}/endpoints/${ids.other}`, { priceUsd: '0.5', isActive: false });
  for (const name of ['one', 'two']) await createKey(alice, base, { name });
  const cheap = await insertPayment(sql, { projectId: project.id, endpointId: ids.endpoint, mark: 'weather' });
  const dear = await insertPayment(sql, { projectId: project.id, endpointId: ids.other, mark: 'tides' });
  Object.assign(ids, {
    cheap: cheap.paymentId,
    dear: dear.paymentId,
    customer: cheap.customerId,
    big: dear.customerId,
  });
  await sql.query(`UPDATE "Payment" SET "amountAtomic" = 500000, "paymentIdentifier" = 'order-1' WHERE id = $1`, [
    ids.dear,
  ]);
  await sql.query(`UPDATE "Customer" SET "totalAtomic" = 500000 WHERE id = $1`, [ids.big]);
  for (const [name, id, type, data] of [
    ['settled', newId('Event'), 'payment.settled', { paymentId: ids.cheap, endpointId: ids.endpoint }],
    ['first', newId('Event'), 'customer.first_payment', { customerId: ids.customer, paymentId: ids.cheap }],
  ] as const) {
    ids[name] = id;
    await sql.query(`INSERT INTO "Event" (id, "projectId", type, data) VALUES ($1, $2, $3, $4)`, [
      ...[id, project.id, type, JSON.stringify({ ...SAMPLE_PAYLOADS[type], ...data })],
    ]);
  }
  ids.replay = ((await alice.rest('POST', `${base}/replays`, { all: true })).body as { replay: Resource }).replay.id;
  ids.notice = await createNotice(app, { projectId: project.id, subjectId: ids.active });
});

afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

const get = (path: string) => rest.send<{ data: Resource[]; errors: unknown }>(alice, 'GET', `${base}/${path}`);

async function found(path: string): Promise<Resource[]> {
  const { status, body } = await get(path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

describe('a filter', () => {
  test.each<[string, () => string[]]>([
    ['webhooks?isActive=true', () => [ids.active!]],
    ['webhooks?isActive=FALSE', () => [ids.disabled!]],
    ['webhooks?isPaused=true', () => []],
    ['connectors?type=slack', () => [ids.slack!]],
    ['connectors?type=Slack,n8n', () => [ids.n8n!, ids.slack!]],
    ['connectors?isPaused=true', () => [ids.n8n!]],
    ['connectors?isPaused=false&isActive=true', () => [ids.slack!]],
    ['endpoints?pathPrefix=/v1/', () => [ids.endpoint!]],
    ['endpoints?pathPrefix=/v_/', () => [ids.other!]],
    ['endpoints?pathPrefix=/%25', () => []],
    ['endpoints?isActive=false', () => [ids.other!]],
    ['payments?minAmountUsd=0.5', () => [ids.dear!]],
    ['payments?maxAmountUsd=0.01', () => [ids.cheap!]],
    ['payments?minAmountUsd=0.01&maxAmountUsd=0.5', () => [ids.dear!, ids.cheap!]],
    ['payments?minAmountUsd=0.02&maxAmountUsd=0.4', () => []],
    ['payments?minAmountUsd=0.01&status=settled', () => [ids.dear!, ids.cheap!]],
    ['payments?minAmountUsd=0.01&status=failed', () => []],
    ['payments?identifier=order-1', () => [ids.dear!]],
    ['payments?minAmountUsd=0.01&status[]=FAILED', () => []],
    ['payments?minAmountUsd=0.01&status%5B%5D=FAILED', () => []],
    ['payments?minAmountUsd=0.01&status[]=failed&status[]=settled', () => [ids.dear!, ids.cheap!]],
    ['payments?minAmountUsd=0.01&status%5B0%5D=failed&status%5B1%5D=settled', () => [ids.dear!, ids.cheap!]],
    [`payments?from=${PAST}&to=${FUTURE}`, () => [ids.dear!, ids.cheap!]],
    [`payments?to=${PAST}`, () => []],
    ['customers?minTotalUsd=0.5', () => [ids.big!]],
    ['customers?minTotalUsd=0.01&orderBy=total', () => [ids.big!, ids.customer!]],
    [`customers?from=${FUTURE}`, () => []],
    [`customers?from=${PAST}&to=${FUTURE}&orderBy=TOTAL`, () => [ids.big!, ids.customer!]],
    ['replays?status=completed,running', () => [ids.replay!]],
    ['replays?status=CANCELED', () => []],
    [`replays?to=${PAST}`, () => []],
    ['notices?type=host.lost', () => []],
    [`notices?from=${PAST}&to=${FUTURE}`, () => [ids.notice!]],
    [`notices?to=${PAST}`, () => []],
  ])('%s lists exactly what matches', async (path, expected) => {
    expect((await found(path)).map(({ id }) => id)).toEqual(expected());
  });

  test('lists deliveries by their destination and event', async () => {
    const toOne = await found(`deliveries?webhookId=${ids.active}`);
    expect(toOne.length).toBeGreaterThan(1);
    for (const { webhookId } of toOne) expect(webhookId).toBe(ids.active);
    const { eventId } = toOne[0]!;
    const ofEvent = await found(`deliveries?eventId=${eventId}`);
    expect(ofEvent.map(({ connectorId, webhookId }) => webhookId ?? connectorId).toSorted()).toEqual(
      [ids.active, ids.disabled, ids.slack, ids.n8n].toSorted(),
    );
    expect(await found(`deliveries?eventId=${eventId}&connectorId=${ids.slack}`)).toHaveLength(1);
    expect(await found(`deliveries?eventId=${newId('Event')}`)).toEqual([]);
  });

  test('lists events about an endpoint, a payment, or a customer', async () => {
    const typesAbout = async (id: string) => (await found(`events?resourceId=${id}`)).map(({ type }) => type);
    expect(await typesAbout(ids.endpoint!)).toEqual(['endpoint.created']);
    expect(await typesAbout(ids.other!)).toEqual(['endpoint.pricing_changed', 'endpoint.created']);
    expect(await typesAbout(ids.cheap!)).toEqual(['payment.settled']);
    expect(await typesAbout(ids.dear!)).toEqual([]);
    expect(await typesAbout(ids.customer!)).toEqual(['customer.first_payment']);
    expect(await found(`events?resourceId=${ids.other}&eventType=endpoint.created`)).toHaveLength(1);
  });

  test('lists events and deliveries from a period, excluding its end', async () => {
    const [newest] = await found('events?limit=1');
    const at = newest!.timestamp as string;
    const just = new Date(Date.parse(at) + 1).toISOString();
    const inPeriod = async (from: string, to: string) =>
      (await found(`events?from=${from}&to=${to}`)).map(({ id }) => id);
    expect(await inPeriod(at, just)).toContain(newest!.id);
    expect(await inPeriod(PAST, at)).not.toContain(newest!.id);
    const [delivery] = await found('deliveries?limit=1');
    const created = delivery!.createdAt as string;
    expect((await found(`deliveries?since=${created}`)).map(({ id }) => id)).toContain(delivery!.id);
    expect((await found(`deliveries?to=${created}`)).map(({ id }) => id)).not.toContain(delivery!.id);
  });

  test.each([
    ['endpoints', 2],
    ['webhooks', 2],
    ['connectors', 2],
    ['keys', 2],
    ['projects', 1],
  ])('lists %s created in a period, excluding its end', async (list, count) => {
    const path = list === 'projects' ? '/api/projects' : `${base}/${list}`;
    const inPeriod = async (period: string) => {
      const { status, body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${path}?${period}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body.data.map(({ id, createdAt }) => ({ id, createdAt: createdAt as string }));
    };
    const all = await inPeriod(`from=${PAST}&to=${FUTURE}`);
    expect(all).toHaveLength(count);
    const { id, createdAt } = all[0]!;
    expect((await inPeriod(`from=${createdAt}`)).map((item) => item.id)).toContain(id);
    expect((await inPeriod(`to=${createdAt}`)).map((item) => item.id)).not.toContain(id);
    expect(await inPeriod(`from=${FUTURE}`)).toEqual([]);
    expect(await inPeriod(`to=${PAST}`)).toEqual([]);
  });

  test('lists the audit log by actor, action, resource, and period', async () => {
    const [entry] = await found('audit-log?limit=1');
    const all = await found('audit-log?limit=100');
    expect(await found(`audit-log?limit=100&actorId=${entry!.actorId}`)).toEqual(all);
    expect(await found(`audit-log?actorId=${newId('ApiKey')}`)).toEqual([]);
    const ofOther = await found(`audit-log?targetId=${ids.other}&action=endpoint.updated&from=${PAST}&to=${FUTURE}`);
    expect(ofOther.map(({ action }) => action)).toEqual(['endpoint.updated']);
    expect(await found(`audit-log?to=${PAST}`)).toEqual([]);
  });

  test('lists payments and deliveries by when they finished, not only by when they were created', async () => {
    const changes = {
      Payment: `"settledAt" = '2021-01-01T00:30:00Z' WHERE id = '${ids.dear}'`,
      Delivery: `status = 'SUCCEEDED', "updatedAt" = '2021-01-01T00:30:00Z' WHERE id = (
        SELECT max(id) FROM "Delivery" WHERE "projectId" = '${ids.project}')`,
    };
    for (const [table, change] of Object.entries(changes)) await sql.query(`UPDATE "${table}" SET ${change}`);
    const [newest] = await found('deliveries?limit=1');
    for (const [list, id] of [
      ['payments', ids.dear],
      ['deliveries', newest!.id],
    ] as const) {
      const finished = async (period: string) => (await found(`${list}?${period}`)).map((item) => item.id);
      expect(await finished('finishedFrom=2021-01-01T00:00:00Z&finishedTo=2021-01-01T01:00:00Z')).toEqual([id]);
      expect(await finished('finishedTo=2021-01-01T00:30:00Z')).toEqual([]);
      expect(await finished('from=2021-01-01T00:00:00Z&to=2021-01-01T01:00:00Z')).toEqual([]);
      expect(await finished('finishedFrom=2021-01-01T00:30:00.001Z')).not.toContain(id);
    }
  });

  test('lists a customer’s payments like all payments', async () => {
    expect((await found(`customers/${ids.big}/payments?minAmountUsd=0.5`)).map(({ id }) => id)).toEqual([ids.dear]);
    expect(await found(`customers/${ids.big}/payments?maxAmountUsd=0.4`)).toEqual([]);
    // The filter can't select another customer's payments.
    expect((await found(`customers/${ids.big}/payments?customerId=${ids.customer}`)).map(({ id }) => id)).toEqual([
      ids.dear,
    ]);
  });

  test('still works in its older form', async () => {
    const { data, errors } = await alice.graphql<{ project: Record<string, { nodes: unknown[] }> }>(
      `query ($id: ID!, $wallet: String) { project(id: $id) {
        events(types: [CUSTOMER_FIRST_PAYMENT]) { nodes { id } }
        customers(walletAddress: $wallet) { nodes { id } } } }`,
      { id: ids.project, wallet: `0x${'12'.repeat(20)}` },
    );
    expect(errors).toBeUndefined();
    expect(data!.project).toEqual({ events: { nodes: [{ id: ids.first }] }, customers: { nodes: [] } });
  });
});

describe('a query with', () => {
  test.each([
    ['a misspelled parameter', 'payments?sttus=FAILED', '/sttus', 'Unknown parameter `sttus`. Did you mean `status`?'],
    [
      'a parameter of another list',
      'replays?page=2',
      '/page',
      'Unknown parameter `page`. To get the next page, send `nextCursor` as `after`.',
    ],
    [
      'a parameter of a route that takes none',
      'endpoints/ep_x?limit=2',
      '/limit',
      'Unknown parameter `limit`. This route takes no query parameters.',
    ],
    [
      'an unknown expansion',
      'payments?expand=custommer',
      '/expand',
      'Must be one of endpoint, customer. Did you mean `customer`?',
    ],
    [
      'an amount that is not a number',
      'payments?minAmountUsd=1e3',
      '/minAmountUsd',
      'Must be an amount in USD, such as "0.01".',
    ],
    [
      'a resource without events',
      'events?resourceId=wh_x',
      '/resourceId',
      'Must be the ID of an endpoint, a payment, or a customer.',
    ],
    [
      'an ID that is not an actor’s',
      'audit-log?actorId=wh_x',
      '/actorId',
      'Must be the ID of a user (usr_) or an API key (key_).',
    ],
    [
      'brackets after a parameter with one value',
      'payments?minAmountUsd[]=1',
      '/minAmountUsd[]',
      'Unknown parameter `minAmountUsd[]`. Send `minAmountUsd`, without brackets, because it has only one value.',
    ],
    ['a repeated parameter', 'payments?payer=0x1&payer=0x2', '/payer', 'Send this parameter only once.'],
    ['a path that can’t exist', 'endpoints?pathPrefix=%2F%00', '/pathPrefix', 'Must not contain NUL characters.'],
    [
      'a prototype’s name',
      'payments?__proto__=1',
      '/__proto__',
      expect.stringContaining('Unknown parameter `__proto__`.'),
    ],
  ])('%s is rejected', async (_what, path, pointer, message) => {
    const { status, body } = await get(path);
    expect({ status, errors: body.errors }).toEqual({ status: 422, errors: [{ pointer, message }] });
  });

  test('an unknown parameter is rejected for changes as well, and nothing is changed', async () => {
    const { status } = await rest.send(alice, 'DELETE', `${base}/webhooks/${ids.active}?force=true`);
    expect(status).toBe(422);
    expect(await found('webhooks?isActive=true')).toHaveLength(1);
  });

  test('an interval in lowercase is accepted', async () => {
    expect((await get('revenue?interval=day')).status).toBe(200);
  });

  test('an unknown field in the body is rejected with the name of a similar one', async () => {
    const body = { path: '/x', upstreamURL: 'https://api.example.com', priceUsd: '1' };
    const response = await rest.send<{ errors: unknown[] }>(alice, 'POST', `${base}/endpoints`, { body });
    expect(response.body.errors).toContainEqual({
      pointer: '/upstreamURL',
      message: 'Unknown field. Did you mean `upstreamUrl`?',
    });
    const config = { webhookURL: 'https://n8n.example.com/webhook/y' };
    const connector = { type: 'n8n', config, eventTypes: ['*'] };
    const second = await rest.send<{ errors: unknown[] }>(alice, 'POST', `${base}/connectors`, { body: connector });
    expect(second.body.errors).toContainEqual({
      pointer: '/config/webhookURL',
      message: 'Unknown field. Did you mean `webhookUrl`?',
    });
  });
});

describe('expand', () => {
  test('adds a payment’s endpoint and customer, or null if they are gone', async () => {
    const [dear, cheap] = await found('payments?expand=endpoint,customer');
    const one = await get(`endpoints/${ids.endpoint}`);
    expect(cheap!.endpoint).toEqual(one.body);
    expect((dear!.customer as Resource).id).toBe(ids.big);
    const { body } = await rest.send(alice, 'GET', `${base}/payments/${ids.cheap}?expand=customer`);
    expect((body.customer as Resource).id).toBe(ids.customer);
    expect(body).not.toHaveProperty('endpoint');
    const { base: otherBase, id: projectId } = await createProject(alice);
    await insertPayment(sql, { projectId, endpointId: newId('Endpoint'), mark: 'gone' });
    const gone = await rest.send<{ data: Resource[] }>(alice, 'GET', `${otherBase}/payments?expand=endpoint`);
    expect(gone.body.data[0]!.endpoint).toBeNull();
  });

  test('adds a delivery’s event, attempts, and destination', async () => {
    const [delivery] = await found(
      `deliveries?webhookId=${ids.active}&expand=event&expand=attempts,webhook,connector&limit=1`,
    );
    expect(delivery).toMatchObject({ attempts: [], connector: null, webhook: { id: ids.active } });
    expect((delivery!.event as Resource).id).toBe(delivery!.eventId);
    const { body } = await rest.send(alice, 'GET', `${base}/deliveries/${delivery!.id}?expand=event`);
    expect(Object.keys(body)).toEqual(expect.arrayContaining(['event', 'attempts']));
  });

  test('never shows an endpoint of someone else', async () => {
    const bob = await app.user('bob', 'ENTERPRISE');
    const { base: bobs, id: projectId } = await createProject(bob);
    await insertPayment(sql, { projectId, endpointId: ids.endpoint!, mark: 'foreign' });
    const { body } = await rest.send<{ data: Resource[] }>(bob, 'GET', `${bobs}/payments?expand=endpoint`);
    expect(body.data[0]!.endpoint).toBeNull();
  });
});
