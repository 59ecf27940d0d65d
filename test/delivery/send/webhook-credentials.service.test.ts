import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createWithAccessToken,
  type NotReady,
  type WithAccessToken,
} from '../../../src/delivery/send/access-tokens.ts';
import { RETRY_SCHEDULES } from '../../../src/delivery/send/retry-policy.ts';
import { tokenSourceOf, type WebhookCredentials } from '../../../src/delivery/send/webhook-credentials.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { startTokenServer, type TokenServer } from '../../connectors/support/token-server.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { FAST, openStage, type Row, type Stage, until } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
let server: TokenServer;
let worker: DeliveryWorker | undefined;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  receiver = await startReceiver();
  server = await startTokenServer();
});
afterEach(async () => {
  await receiver.close();
  await server.close();
  await worker?.stop();
  worker = undefined;
});
afterAll(() => stage.close());

const NONE: WebhookCredentials = { headers: [], authentication: null };
const oauth = () => ({
  type: 'OAUTH2_CLIENT_CREDENTIALS' as const,
  tokenUrl: `${server.url}/token`,
  clientId: 'client: 1',
  clientSecret: 'secret-0123456789',
  scope: 'events:write events:read',
});

const seal = (id: string, credentials: Partial<WebhookCredentials>) => {
  const cell = { table: 'Webhook', column: 'secretCredentials', rowId: id, projectId: stage.projectId };
  return stage.secretBox.seal(JSON.stringify({ ...NONE, ...credentials }), cell);
};
const setCredentials = (id: string, credentials: Partial<WebhookCredentials>) =>
  stage.pool.query('UPDATE "Webhook" SET "secretCredentials" = $2 WHERE "id" = $1', [id, seal(id, credentials)]);

async function addWebhook(credentials: Partial<WebhookCredentials>, values: Row = {}): Promise<string> {
  const { id } = await stage.addWebhook(`${receiver.url}/in`, values);
  await setCredentials(id, credentials);
  return id;
}

async function deliver(webhookId: string, status = 'SUCCEEDED', values: Row = {}): Promise<string> {
  const id = await stage.addDelivery(webhookId, values);
  worker ??= stage.startWorker();
  await stage.deliveryIs(id, status);
  return id;
}
const attempt = async (id: string) => (await stage.attempts(id)).at(-1)!;
const tokenRow = async (id: string) =>
  (await stage.pool.query<Row>('SELECT * FROM "WebhookToken" WHERE "id" = $1', [id])).rows[0];

describe('a webhook’s own headers and authentication', () => {
  test('are sent, and recorded only as masks, even if the receiver returns them', async () => {
    const headers = [
      { name: 'X-Api-Key', value: 'the key of the receiver' },
      { name: 'X-Stage', value: 'test' },
    ];
    receiver.handle((request) => {
      const all = { 'x-echo': request.headers['x-api-key'] as string, 'content-type': 'text/plain' };
      return {
        headers: all,
        body: `${JSON.stringify(request.headers)} ${Buffer.from('tollgate:pass wörd').toString()}`,
      };
    });
    const authentication = { type: 'BASIC', username: 'tollgate', password: 'pass wörd' } as const;
    const id = await deliver(await addWebhook({ headers, authentication }));
    const authorization = `Basic ${Buffer.from('tollgate:pass wörd', 'utf8').toString('base64')}`;
    expect(receiver.requests[0]!.headers).toMatchObject({
      'x-api-key': 'the key of the receiver',
      'x-stage': 'test',
      authorization,
      'content-type': 'application/json',
      'user-agent': 'Tollgate/1.2.3',
    });
    const recorded = await attempt(id);
    expect(recorded.requestHeaders).toMatchObject({
      'x-api-key': '••••',
      'x-stage': '••••',
      authorization: '••••',
      'content-type': 'application/json',
      'user-agent': 'Tollgate/1.2.3',
    });
    expect(recorded.responseHeaders).toMatchObject({ 'x-echo': '••••', 'content-type': 'text/plain' });
    expect(recorded.responseBody).toContain('••••');
    const all = JSON.stringify([recorded, stage.lines]);
    for (const secret of ['the key of the receiver', 'pass wörd', authorization.slice(18, 34)]) {
      expect(all).not.toContain(secret);
    }
  });

  test('are recorded only as masks in base64, even if the password is short', async () => {
    receiver.handle((request) => ({ body: JSON.stringify({ sent: request.headers.authorization }) }));
    const authentication = { type: 'BASIC', username: 'tollgate', password: 'K7w' } as const;
    const id = await deliver(await addWebhook({ authentication }));
    const encoded = Buffer.from('tollgate:K7w').toString('base64');
    expect(receiver.requests[0]!.headers.authorization).toBe(`Basic ${encoded}`);
    expect((await attempt(id)).responseBody).toBe('{"sent":"Basic ••••"}');
  });

  test('can be a bearer token', async () => {
    await deliver(await addWebhook({ authentication: { type: 'BEARER', token: 'token-0123456789' } }));
    expect(receiver.requests[0]!.headers.authorization).toBe('Bearer token-0123456789');
  });

  test('are sent only to the URL that they were stored for', async () => {
    const url = `${receiver.url}/another`;
    const id = await addWebhook({ headers: [{ name: 'X-Key', value: 'first' }], url } as Partial<WebhookCredentials>);
    expect(await attempt(await deliver(id, 'FAILED'))).toMatchObject({ errorClass: 'internal', requestHeaders: null });
    expect(receiver.requests).toEqual([]);
    await stage.pool.query('UPDATE "Webhook" SET "url" = $2 WHERE "id" = $1', [id, url]);
    await deliver(id);
    expect(receiver.requests[0]!.headers).toMatchObject({ 'x-key': 'first' });
  });

  test('apply from the next request after a change', async () => {
    const id = await addWebhook({ headers: [{ name: 'X-Key', value: 'first' }] });
    await deliver(id);
    await setCredentials(id, { headers: [{ name: 'X-Key', value: 'second' }] });
    await deliver(id);
    await stage.pool.query('UPDATE "Webhook" SET "secretCredentials" = NULL WHERE "id" = $1', [id]);
    await deliver(id);
    expect(receiver.requests.map(({ headers }) => headers['x-key'])).toEqual(['first', 'second', undefined]);
  });
});

describe('a webhook with an OAuth client', () => {
  test('gets an access token once, and uses it for all deliveries', async () => {
    const id = await addWebhook({ authentication: oauth() });
    for (let count = 0; count < 3; count++) await deliver(id);
    const [token] = server.tokens();
    expect(receiver.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill(`Bearer ${token}`));
    expect(server.grants).toHaveLength(1);
    expect(Object.fromEntries(server.grants[0]!.parameters)).toEqual({
      grant_type: 'client_credentials',
      scope: 'events:write events:read',
    });
    expect(server.grants[0]!.authorization).toBe(`Basic ${btoa('client%3A+1:secret-0123456789')}`);
    expect(JSON.stringify([await tokenRow(id), stage.lines])).not.toMatch(new RegExp(`${token}|secret-0123456789`));
  });

  test('gets a new token once if the receiver returns 401, and sends the request again within the same attempt', async () => {
    receiver.handle(({ headers: { authorization = '' } }) => ({
      statusCode: server.accepts(authorization.replace('Bearer ', '')) ? 200 : 401,
      body: authorization,
    }));
    const webhookId = await addWebhook({ authentication: oauth() });
    await deliver(webhookId);
    server.expireAll();
    const id = await deliver(webhookId);
    expect(server.grants).toHaveLength(2);
    expect(receiver.requests).toHaveLength(3);
    expect(await stage.attempts(id)).toMatchObject([{ number: 1, statusCode: 200, responseBody: 'Bearer ••••' }]);

    receiver.handle(() => ({ statusCode: 401 }));
    const rejected = await deliver(webhookId, 'FAILED');
    // The first of the four attempts shows that a new token doesn't help, so the others send only one request.
    expect(receiver.requests).toHaveLength(3 + 5);
    expect(server.grants).toHaveLength(3);
    expect(await stage.attempts(rejected)).toMatchObject(Array(4).fill({ statusCode: 401, errorClass: 'http_status' }));
  });

  test.each(['invalid_client', 'invalid_grant'])(
    'is paused with the reason if the client is rejected with %s, and its deliveries are held and then sent',
    async (error) => {
      server.receiver.respondNext({
        statusCode: 400,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ error, error_description: 'No secret-0123456789 at /token?t=tenant-0123456789' }),
      });
      const tokenUrl = `${server.url}/token?t=tenant-0123456789`;
      const webhookId = await addWebhook({ authentication: { ...oauth(), tokenUrl } });
      const later = await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() + 3_600_000) });
      const id = await stage.addDelivery(webhookId);
      worker = stage.startWorker();
      await until(async () => (await stage.webhook(webhookId)).pausedAt !== null);
      const reason = `The token URL refused to issue an access token (${error}: No •••• at ••••). Update the webhook with a working OAuth client.`;
      expect(await stage.webhook(webhookId)).toMatchObject({ pausedReason: reason, isActive: true });
      const held = { status: 'PENDING', reason: 'paused', nextAttemptAt: null };
      for (const delivery of [id, later]) {
        await until(async () => (await stage.delivery(delivery)).nextAttemptAt === null);
        expect(await stage.delivery(delivery)).toMatchObject(held);
      }
      expect(await attempt(id)).toMatchObject({
        statusCode: null,
        errorClass: 'no_access_token',
        errorMessage: reason,
        requestHeaders: null,
      });
      expect(receiver.requests).toEqual([]);
    },
  );

  test('is not paused for a client that was replaced in the meantime', async () => {
    const webhookId = await addWebhook({ authentication: oauth() });
    server.receiver.handle(async (request) => {
      if (!request.headers.authorization?.includes(btoa('client'))) return server.answer(request);
      await setCredentials(webhookId, { authentication: { ...oauth(), clientId: 'another' } });
      return { statusCode: 400, body: '{"error":"invalid_client"}' };
    });
    const id = await deliver(webhookId);
    expect(await stage.webhook(webhookId)).toMatchObject({ pausedAt: null, pausedReason: null });
    expect(await stage.attempts(id)).toMatchObject([{ errorClass: 'no_access_token' }, { statusCode: 200 }]);
  });

  test('is retried if its token URL fails or can’t be reached, and the reason says so', async () => {
    const webhookId = await addWebhook({ authentication: oauth() });
    server.receiver.respondNext({ statusCode: 503 });
    const id = await deliver(webhookId);
    expect(await stage.attempts(id)).toMatchObject([
      {
        statusCode: null,
        errorClass: 'no_access_token',
        errorMessage: "The token URL couldn't issue an access token right now (HTTP 503).",
      },
      { statusCode: 200 },
    ]);
    const unreachable = await addWebhook({ authentication: { ...oauth(), tokenUrl: 'http://127.0.0.1:1/' } });
    expect(await attempt(await deliver(unreachable, 'FAILED'))).toMatchObject({
      errorClass: 'no_access_token',
      errorMessage: expect.stringMatching(
        /^Couldn't get an access token from the token URL\. The connection was refused/,
      ),
    });
  });
});

describe('the access token of a webhook', () => {
  const start = (send: Stage['egress']['send'] = stage.egress.send): WithAccessToken =>
    createWithAccessToken(
      { pool: stage.pool, egressOf: () => ({ send }), secretBox: stage.secretBox, userAgent: 'Tollgate/1.2.3' },
      'webhook',
    );
  type Used = { token: string; isUnauthorized: boolean };

  /** Uses the current token, the way a process does after it has claimed a delivery with these credentials. */
  async function use(process: WithAccessToken, id: string, sealedCredential: string): Promise<Used | NotReady> {
    const owner = { id, projectId: stage.projectId, sealedCredential };
    return process(owner, tokenSourceOf(oauth()), async ({ accessToken }) => ({
      token: accessToken,
      isUnauthorized: false,
    }));
  }
  const sealedOf = async (id: string) => String((await stage.webhook(id)).secretCredentials);

  test('is requested by one process at a time', async () => {
    const id = await addWebhook({ authentication: oauth() });
    const sealed = await sealedOf(id);
    const processes = [start(), start(), start()];
    const uses = Array.from({ length: 30 }, (_, index) => use(processes[index % 3]!, id, sealed));
    for (const result of await Promise.all(uses)) {
      expect(result).toMatchObject('kind' in result ? { kind: 'wait' } : { token: server.tokens()[0]! });
    }
    expect(server.grants).toHaveLength(1);
  });

  test('that lasts only a second is still used for a minute, and stored once per minute even if it is rejected', async () => {
    await server.close();
    server = await startTokenServer({ lifetimeSeconds: 1 });
    const isRejected = ({ headers: { authorization = '' } }: { headers: { authorization?: string } }) =>
      !server.accepts(authorization.replace('Bearer ', ''));
    receiver.handle((request) => ({ statusCode: isRejected(request) ? 401 : 200 }));
    const id = await addWebhook({ authentication: oauth() });
    for (let count = 0; count < 3; count++) await deliver(id);
    expect(server.grants).toHaveLength(1);
    const { sealed } = (await tokenRow(id))!;

    for (let count = 1; count <= 3; count++) {
      server.expireAll();
      const delivery = await deliver(id);
      expect(await stage.attempts(delivery)).toMatchObject([{ number: 1, statusCode: 200 }]);
      expect(server.grants).toHaveLength(1 + count);
    }
    expect(await tokenRow(id)).toMatchObject({ sealed, generation: 1, leaseUntil: null });

    // A minute later, the new token is stored, and the next delivery uses it.
    await stage.pool.query(
      `UPDATE "WebhookToken" SET "issuedAt" = "issuedAt" - interval '60 seconds', "expiresAt" = "expiresAt" - interval '60 seconds'`,
    );
    for (let count = 0; count < 2; count++) await deliver(id);
    expect(server.grants).toHaveLength(5);
    expect(await tokenRow(id)).toMatchObject({ generation: 2 });
  });

  test('is never given to a process that still has other credentials, and never accepted from one', async () => {
    const id = await addWebhook({ authentication: oauth() });
    const old = await sealedOf(id);
    await setCredentials(id, { authentication: oauth() });
    expect(await use(start(), id, old)).toMatchObject({ kind: 'wait' });
    expect(server.grants).toEqual([]);
    const current = await sealedOf(id);
    expect(await use(start(), id, current)).toMatchObject({ isUnauthorized: false });
    expect(await use(start(), id, old)).toMatchObject({ kind: 'wait' });

    const changing = start(async (request) => {
      const response = await stage.egress.send(request);
      await setCredentials(id, { authentication: oauth() });
      return response;
    });
    await stage.pool.query('DELETE FROM "WebhookToken" WHERE "id" = $1', [id]);
    expect(await use(changing, id, current)).toMatchObject({ kind: 'wait' });
    expect(await tokenRow(id)).toMatchObject({ sealed: '', generation: 0 });
  });
});

describe('the timeout of a webhook', () => {
  test('ends a request to a receiver that takes longer', async () => {
    receiver.handle((_request, response, index) => {
      // The first request never gets a response.
      if (index > 0) response.writeHead(200).end();
      return undefined;
    });
    const slow = await addWebhook(NONE, { timeoutSeconds: 1 });
    const id = await deliver(slow);
    const attempts = await stage.attempts(id);
    expect(attempts[0]).toMatchObject({ statusCode: null, errorClass: 'timeout' });
    expect(attempts[0]!.durationMs).toBeGreaterThanOrEqual(950);
    expect(attempts.at(-1)).toMatchObject({ statusCode: 200 });
  });

  test('can be longer than the default', async () => {
    const { promise: answer, resolve: release } = Promise.withResolvers<{ statusCode: number }>();
    receiver.handle((_request, _response, index) => (index === 0 ? answer : undefined));
    worker = stage.startWorker({ timeoutMilliseconds: 100, retryScheduleSeconds: [] });
    const patient = await stage.addDelivery(await addWebhook(NONE, { timeoutSeconds: 30 }));
    await receiver.waitFor(1);
    // A request with the default timeout begins later and ends earlier.
    const other = await deliver(await addWebhook(NONE), 'FAILED');
    expect(await attempt(other)).toMatchObject({ statusCode: null, errorClass: 'timeout' });
    release({ statusCode: 200 });
    await stage.deliveryIs(patient, 'SUCCEEDED');
    expect(await stage.attempts(patient)).toMatchObject([{ statusCode: 200 }]);
  });
});

describe('the retry schedule of a webhook', () => {
  test('applies to waiting deliveries, too, starting with their next failure', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhookId = await addWebhook(NONE, { retrySchedule: 'LONG' });
    const id = await stage.addDelivery(webhookId);
    worker = stage.startWorker();
    await until(async () => (await stage.delivery(id)).retryStep === 1);
    await stage.pool.query(`UPDATE "Webhook" SET "retrySchedule" = 'NONE' WHERE "id" = $1`, [webhookId]);
    await stage.pool.query('UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "id" = $1', [id]);
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ reason: 'exhausted', attemptCount: 2 });
  });

  test('has no quick retries either if it has no retries', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    worker = stage.startWorker({ quickRetries: { ...FAST.quickRetries!, maxRetries: 2 } });
    await deliver(await addWebhook(NONE, { retrySchedule: 'NONE' }), 'FAILED');
    expect(receiver.requests).toHaveLength(1);
    receiver.handle(() => ({ statusCode: 429 }));
    await deliver(await addWebhook(NONE, { retrySchedule: 'NONE' }), 'FAILED');
    expect(receiver.requests).toHaveLength(2);
  });

  test('determines when a webhook that keeps failing is disabled', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhookId = await addWebhook(NONE, { retrySchedule: 'NONE' });
    const week = `UPDATE "Webhook" SET "failingSince" = now() - interval '7 days' WHERE "id" = $1`;
    await stage.pool.query(week, [webhookId]);
    worker = stage.startWorker({ retryScheduleSeconds: RETRY_SCHEDULES.STANDARD });
    for (let count = 0; count < 3; count++) await deliver(webhookId, 'FAILED');
    await until(async () => (await stage.webhook(webhookId)).isActive === false);
    expect(await stage.webhook(webhookId)).toMatchObject({ disabledReason: 'failing' });
  });
});
