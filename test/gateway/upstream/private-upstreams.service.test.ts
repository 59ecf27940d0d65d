import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createProject, createWebhook } from '../../support/resources.ts';
import { sign, v2Headers } from '../sign.ts';
import { type Rails, SELLER, startRails } from '../support.ts';

type Attempts = { attempts: { errorClass: string | null }[] };

const HINT =
  'You can use any https URL with a public host, on port 443 or 1024 and above. The operator can use UPSTREAM_ALLOW to allow other addresses for a project.';
const NOT_PUBLIC = {
  status: 422,
  body: { errors: [{ pointer: '/upstreamUrl', message: `The target address must be public. ${HINT}` }] },
};

const REFUSED = {
  failureReason: 'upstream_unreachable',
  failureMessage: NOT_PUBLIC.body.errors[0]!.message,
};

let rails: Rails;
let api: Receiver;
/** The private server that all projects can call. */
let common: Receiver;
let first: TestApp;
let app: TestApp;
let alice: TestUser;
let buyer: PrivateKeyAccount;
let opened: { id: string; base: string };
let other: { id: string; base: string };

const open = (...urls: string[]) => urls.map((url) => `127.0.0.1/32:${new URL(url).port}`).join(',');

beforeAll(async () => {
  rails = await startRails();
  [api, common] = [await startReceiver(), await startReceiver()];
  // The projects must exist before the settings can name them. There is no worker, because it would
  // take some of the deliveries.
  first = await startTestApp({ env: { ROLES: 'api' } });
  const owner = await first.user('alice');
  [opened, other] = [
    await createProject(owner, { walletAddress: SELLER }),
    await createProject(owner, { walletAddress: SELLER }),
  ];
  app = await startTestApp({
    databaseUrl: first.databaseUrl,
    dataDir: first.dataDir,
    env: {
      ...rails.env,
      EGRESS_ALLOW: '',
      SERVICE_ALLOW: open(rails.env.FACILITATOR_URL!, rails.env.RPC_URL!),
      UPSTREAM_ALLOW: `${open(api.url)}@${opened.id}, ${open(common.url)}`,
    },
    // Public names that resolve to the private server.
    hostOverrides: { 'api.example.com': api.url, 'hooks.example.com': api.url, 'n8n.example.com': api.url },
    delivery: { retryScheduleSeconds: [] },
  });
  alice = await app.user('alice');
  buyer = await rails.wallet(100_000_000n);
});
beforeEach(() => {
  api.requests.length = 0;
});
afterAll(async () => {
  await app?.stop();
  await first?.stop();
  await Promise.all([api?.close(), common?.close(), rails?.close()]);
});

const endpoint = (base: string, path: string, upstreamUrl: string) =>
  alice.rest<{ id: string }>('POST', `${base}/endpoints`, { path, upstreamUrl, priceUsd: '0.01' });

async function pay({ id }: { id: string }, path: string) {
  const response = await fetch(`${app.url}/gateway/${id}${path}`, { headers: v2Headers(await sign(buyer)) });
  return { status: response.status, body: await response.text() };
}

/** The reason of a project's last failed payment, as the seller sees it. */
async function lastFailure({ base }: { base: string }) {
  type Failure = { failureReason: string; failureMessage: string };
  const { body } = await alice.rest<{ data: Failure[] }>('GET', `${base}/payments?status=FAILED&limit=1`);
  const [{ failureReason, failureMessage }] = body.data as [Failure];
  return { failureReason, failureMessage };
}

describe('an upstream that the operator has opened to one project', () => {
  test('is paid for in that project, with the facilitator and the node in SERVICE_ALLOW', async () => {
    api.respondNext({ body: 'private' });
    expect((await endpoint(opened.base, '/direct', `${api.url}/direct`)).status).toBe(201);
    expect(await pay(opened, '/direct')).toEqual({ status: 200, body: 'private' });
    expect(rails.facilitator.countOf('settle')).toBeGreaterThan(0);
    expect(api.requests.map(({ path }) => path)).toEqual(['/direct']);
  });

  test('gets that project’s headers, which no other project can set for it', async () => {
    const upstreamHeaders = [{ name: 'X-Api-Key', value: 'key-of-the-seller', urlPrefix: `${api.url}/keyed` }];
    const refusal = { ...NOT_PUBLIC.body.errors[0], pointer: '/upstreamHeaders/0/urlPrefix' };
    expect(await alice.rest('PATCH', other.base, { upstreamHeaders })).toMatchObject({
      status: 422,
      body: { errors: [refusal] },
    });
    expect(await alice.rest('PATCH', opened.base, { upstreamHeaders })).toMatchObject({ status: 200 });
    expect((await endpoint(opened.base, '/keyed', `${api.url}/keyed`)).status).toBe(201);
    expect((await pay(opened, '/keyed')).status).toBe(200);
    expect(api.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['key-of-the-seller']);
  });

  test('charges nobody in a project that may not call it, even if the endpoint would charge first', async () => {
    const made = await endpoint(other.base, '/closed', 'https://api.example.org/closed');
    const path = `${other.base}/endpoints/${made.body.id}`;
    expect((await alice.rest('PATCH', path, { settlement: 'BEFORE_REQUEST' })).status).toBe(200);
    // Acts as if the operator had removed it from the allow-list after the endpoint was created.
    const database = new pg.Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query('UPDATE "Endpoint" SET "upstreamUrl" = $2 WHERE id = $1', [made.body.id, `${api.url}/closed`]);
    await database.end();
    const settled = rails.facilitator.countOf('settle');
    const { status, body } = await pay(other, '/closed');
    expect([status, JSON.parse(body)]).toMatchObject([
      502,
      { code: 'UPSTREAM_FAILED', detail: expect.stringContaining("You weren't charged") },
    ]);
    expect(rails.facilitator.countOf('settle')).toBe(settled);
    expect(await lastFailure(other)).toEqual(REFUSED);
  });

  test('can have a local name, as in a network of containers', async () => {
    expect((await endpoint(opened.base, '/named', `http://localhost:${api.port}/named`)).status).toBe(201);
    expect((await pay(opened, '/named')).status).toBe(200);
  });

  test('is rejected in another project, with a message that names the setting', async () => {
    for (const host of ['127.0.0.1', 'localhost', '0x7f.1'])
      expect(await endpoint(other.base, '/refused', `http://${host}:${api.port}/x`)).toMatchObject(NOT_PUBLIC);
    const named = await endpoint(other.base, '/refused', `http://api.example.com:${api.port}/x`);
    expect(named.body).toMatchObject({ errors: [{ message: `The URL must start with https://. ${HINT}` }] });
  });

  test('is rejected in another project when an endpoint is updated, with the same message', async () => {
    const made = await endpoint(other.base, '/updated', 'https://api.example.org/x');
    const path = `${other.base}/endpoints/${made.body.id}`;
    expect(await alice.rest('PATCH', path, { upstreamUrl: `${api.url}/x` })).toMatchObject(NOT_PUBLIC);
    expect(await alice.rest('PATCH', path, { upstreamUrl: 'http://127.0.0.2:1/x' })).toMatchObject(NOT_PUBLIC);
    expect((await alice.rest('PATCH', path, { priceUsd: '0.02' })).status).toBe(200);
    expect((await alice.rest('PATCH', path, { upstreamUrl: `${common.url}/x` })).status).toBe(200);
    expect((await alice.rest<{ upstreamUrl: string }>('GET', path)).body.upstreamUrl).toBe(`${common.url}/x`);
  });

  test('is not reached by another project, even through a public name and while a connection is open', async () => {
    const url = 'https://api.example.com/shared';
    for (const { base } of [opened, other]) expect((await endpoint(base, '/shared', url)).status).toBe(201);
    const reachApi = async () => (await pay(opened, '/shared')).status;
    const connections = api.connectionCount();
    expect([await reachApi(), await reachApi()]).toEqual([200, 200]);
    expect(api.connectionCount()).toBe(connections + 1);
    expect(await pay(other, '/shared')).toMatchObject({
      status: 502,
      body: expect.stringContaining("couldn't be reached"),
    });
    expect(await lastFailure(other)).toEqual(REFUSED);
    expect(await reachApi()).toBe(200);
    expect(api.connectionCount()).toBe(connections + 1);
    expect(api.requests).toHaveLength(3);
  });

  test('gets the project’s headers for it, which no other project can set', async () => {
    const header = (urlPrefix: string) => ({ upstreamHeaders: [{ name: 'X-Api-Key', value: 'secret', urlPrefix }] });
    const set = (base: string, url: string) => alice.rest('PATCH', base, header(url));
    expect((await set(opened.base, api.url)).status).toBe(200);
    expect((await endpoint(opened.base, '/headers', `${api.url}/headers`)).status).toBe(201);
    expect((await pay(opened, '/headers')).status).toBe(200);
    expect(api.requests).toMatchObject([{ path: '/headers', headers: { 'x-api-key': 'secret' } }]);

    const [issue] = NOT_PUBLIC.body.errors;
    const refused = { status: 422, body: { errors: [{ ...issue, pointer: '/upstreamHeaders/0/urlPrefix' }] } };
    // The message doesn't reveal whether the URL is open to another project.
    for (const url of [api.url, 'http://127.0.0.2:1']) expect(await set(other.base, url)).toMatchObject(refused);
    const body = { name: 'New', walletAddress: SELLER };
    expect(await alice.rest('POST', '/api/projects', { ...body, ...header(api.url) })).toMatchObject(refused);
    expect((await set(other.base, common.url)).status).toBe(200);
    const stranger = await app.user('mallory');
    for (const url of [api.url, common.url])
      expect((await stranger.rest('PATCH', opened.base, header(url))).status).toBe(404);
  });

  test('doesn’t prevent that project from using an upstream that is open to all projects', async () => {
    for (const { base } of [opened, other]) expect((await endpoint(base, '/common', common.url)).status).toBe(201);
    for (const project of [opened, other]) expect((await pay(project, '/common')).status).toBe(200);
  });

  test.each(['http://127.0.0.1:1/', 'http://127.0.0.2:PORT/', 'https://10.0.0.1/', 'http://169.254.169.254/'])(
    'opens nothing else: %s',
    async (url) => {
      const upstreamUrl = url.replace('PORT', String(api.port));
      expect(await endpoint(opened.base, '/else', upstreamUrl)).toMatchObject(NOT_PUBLIC);
    },
  );
});

describe('webhooks, connectors, and contacts of a project with an opened address', () => {
  const message =
    'The target address must be public. You can use any https URL with a public host, on port 443 or 1024 and above. In development, you can allow other addresses with the EGRESS_ALLOW setting.';

  test('can’t use the opened address', async () => {
    const rejected = (pointer: string, message: string) => ({ status: 422, body: { errors: [{ pointer, message }] } });
    const hookMessage = NOT_PUBLIC.body.errors[0]!.message.replace('UPSTREAM_ALLOW', 'WEBHOOK_ALLOW');
    const webhook = { url: `${api.url}/hook`, eventTypes: ['*'] };
    expect(await alice.rest('POST', `${opened.base}/webhooks`, webhook)).toMatchObject(rejected('/url', hookMessage));
    const authentication = { type: 'OAUTH2_CLIENT_CREDENTIALS', tokenUrl: `https://127.0.0.1:${api.port}/token` };
    const withToken = {
      url: 'https://hooks.example.org',
      eventTypes: ['*'],
      authentication: { ...authentication, clientId: 'id', clientSecret: 'a-long-secret' },
    };
    expect(await alice.rest('POST', `${opened.base}/webhooks`, withToken)).toMatchObject(
      rejected('/authentication/tokenUrl', hookMessage),
    );
    const config = { webhookUrl: `https://127.0.0.1:${api.port}/webhook/x` };
    const connector = { type: 'n8n', config, eventTypes: ['*'] };
    expect(await alice.rest('POST', `${opened.base}/connectors`, connector)).toMatchObject(
      rejected('/config/webhookUrl', message),
    );
    const contacts = { webhookUrl: `${api.url}/notices` };
    expect(await alice.rest('PATCH', `${opened.base}/contacts`, contacts)).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/webhookUrl' }] },
    });
  });

  test('don’t reach it through a public name, even while the gateway has an open connection', async () => {
    const url = 'https://hooks.example.com/in';
    expect((await endpoint(opened.base, '/hooks', url)).status).toBe(201);
    expect((await pay(opened, '/hooks')).status).toBe(200);
    const webhook = await createWebhook(alice, opened.base, { url });
    const path = `${opened.base}/webhooks/${webhook.id}/test`;
    const test = await alice.rest<{ id: string }>('POST', path, { eventType: 'payment.settled' });
    const config = { webhookUrl: 'https://n8n.example.com/webhook/abc' };
    const body = { type: 'n8n', config, eventTypes: ['*'] };
    const connector = await alice.rest<{ id: string }>('POST', `${opened.base}/connectors`, body);
    expect(connector.status, JSON.stringify(connector.body)).toBe(201);
    const sample = await alice.rest<{ delivery: { id: string } }>(
      'POST',
      `${opened.base}/connectors/${connector.body.id}/test`,
      {},
    );
    for (const { id } of [test.body, sample.body.delivery]) {
      const delivery = async () => (await alice.rest<Attempts>('GET', `${opened.base}/deliveries/${id}`)).body;
      const classes = async () => (await delivery()).attempts.map(({ errorClass }) => errorClass);
      await expect.poll(classes, { interval: 500 }).toContain('target_not_allowed');
    }
    expect(api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /in']);
  });
});
