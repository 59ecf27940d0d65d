import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Tollgate, verifyWebhook, type WebhookToVerify } from '../../packages/sdk/src/index.ts';
import { signWebhook } from '../../src/delivery/send/signing.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { WALLET } from '../support/resources.ts';

const NOT_SIGNED = 'The webhook is not signed with this secret.';
const TOO_OLD = 'The timestamp is too old or in the future.';

let app: TestApp;
let receiver: Receiver;
/** The secrets before and after a rotation, a request signed with the first secret, and a request signed with both. */
let secrets: [old: string, current: string];
let requests: ReceivedRequest[];

beforeAll(async () => {
  app = await startTestApp();
  receiver = await startReceiver();
  const { token } = await app.user('alice');
  const account = new Tollgate({ baseUrl: app.url, token });
  const { id: projectId } = await account.projects.create({ name: 'Grüße 🎉', walletAddress: WALLET });
  const { webhooks } = new Tollgate({ baseUrl: app.url, token, projectId });
  const { id, secret } = await webhooks.create({ url: receiver.url, eventTypes: ['*'] });
  await webhooks.sendTestEvent(id, { eventType: 'payment.settled' });
  await receiver.waitFor(1);
  secrets = [secret, (await webhooks.rotateSecret(id)).secret];
  await webhooks.sendTestEvent(id, { eventType: 'customer.milestone' });
  requests = await receiver.waitFor(2);
});
afterAll(async () => {
  await receiver?.close();
  await app?.stop();
});

type Credential = { secret: string } | { secrets: string[] };
const webhookOf = ({ body, headers }: ReceivedRequest, credential: Credential): WebhookToVerify => ({
  payload: body,
  headers,
  ...credential,
});

/** Returns the headers that the service would send at another time. */
function signedAt(id: string, seconds: number, body: Buffer): Record<string, string> {
  const timestampSeconds = Math.round(seconds);
  const signature = signWebhook({ id, timestampSeconds, body, secrets: [secrets[0]] });
  return { 'webhook-id': id, 'webhook-timestamp': `${timestampSeconds}`, 'webhook-signature': signature };
}

test('verifyWebhook accepts a delivery and returns its event', async () => {
  const event = await verifyWebhook(webhookOf(requests[0]!, { secret: secrets[0] }));
  if (event.type !== 'payment.settled') throw new Error(`The type is ${event.type}`);
  // The type of `data` follows from `type`.
  expect(event.data.amountUsd).toMatch(/^\d/);
  expect(event.test).toBe(true);
});

test('verifyWebhook accepts text and an ArrayBuffer as the payload, and Headers', async () => {
  const { body, headers } = requests[0]!;
  const fetchHeaders = new Headers(headers as Record<string, string>);
  for (const payload of [body.toString(), new Uint8Array(body).buffer]) {
    expect(await verifyWebhook({ payload, headers: fetchHeaders, secret: secrets[0] })).toHaveProperty('id');
  }
});

test('verifyWebhook accepts the old and the new secret while a secret is being rotated', async () => {
  for (const secret of secrets) {
    const event = await verifyWebhook(webhookOf(requests[1]!, { secret }));
    expect(event.type).toBe('customer.milestone');
  }
  expect(await verifyWebhook(webhookOf(requests[0]!, { secrets: secrets.toReversed() }))).toHaveProperty('id');
  await expect(verifyWebhook(webhookOf(requests[0]!, { secret: secrets[1] }))).rejects.toThrow(NOT_SIGNED);
});

test('verifyWebhook reads the body once per secret, no matter how many signatures a request has', async () => {
  const { body, headers } = requests[0]!;
  const reads = [vi.spyOn(crypto.subtle, 'sign'), vi.spyOn(crypto.subtle, 'verify')];
  const forged = { ...headers, 'webhook-signature': 'v1,'.padEnd(47, 'A').concat(' v1,'.repeat(4_000)) };
  await expect(verifyWebhook({ payload: body, headers: forged, secrets })).rejects.toThrow(NOT_SIGNED);
  const count = reads.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  for (const read of reads) read.mockRestore();
  expect(count).toBe(secrets.length);
});

test('verifyWebhook rejects a body, an ID, or a signature that was changed', async () => {
  const { body, headers } = requests[0]!;
  const credential = { secret: secrets[0] };
  const forged: WebhookToVerify[] = [
    { payload: body.toString().replace('"test":true', '"test":false'), headers, ...credential },
    { payload: body, headers: { ...headers, 'webhook-id': 'evt_other' }, ...credential },
    { payload: body, headers: { ...headers, 'webhook-signature': 'v1,AAAA' }, ...credential },
    {
      payload: body,
      headers: { ...headers, 'webhook-signature': `v2,${`${headers['webhook-signature']}`.slice(3)}` },
      ...credential,
    },
    { payload: body, headers: { ...headers, 'webhook-signature': undefined }, ...credential },
    { payload: body, headers: { ...headers, 'webhook-signature': 'v1,not base64!' }, ...credential },
  ];
  for (const webhook of forged) await expect(verifyWebhook(webhook)).rejects.toThrow(NOT_SIGNED);
});

test('verifyWebhook rejects an ID with a dot, so that a signature fits only one ID and body', async () => {
  const headers = signedAt('evt_1.2', Date.now() / 1000, requests[0]!.body);
  await expect(verifyWebhook({ payload: requests[0]!.body, headers, secret: secrets[0] })).rejects.toThrow(
    'The ID contains a dot.',
  );
});

test('verifyWebhook rejects a timestamp outside the tolerance, and one that is not a number', async () => {
  const { body, headers } = requests[0]!;
  const secret = secrets[0];
  for (const [offsetSeconds, toleranceSeconds] of [
    [-310, undefined],
    [310, undefined],
    [-20, 10],
  ] as const) {
    const signed = signedAt(headers['webhook-id'] as string, Date.now() / 1000 + offsetSeconds, body);
    await expect(verifyWebhook({ payload: body, headers: signed, secret, toleranceSeconds })).rejects.toThrow(TOO_OLD);
  }
  const withinTolerance = signedAt(headers['webhook-id'] as string, Date.now() / 1000 - 290, body);
  expect(await verifyWebhook({ payload: body, headers: withinTolerance, secret })).toHaveProperty('id');
  for (const timestamp of ['', 'now', 'NaN', '1e9', undefined]) {
    const webhook = { payload: body, headers: { ...headers, 'webhook-timestamp': timestamp }, secret };
    await expect(verifyWebhook(webhook)).rejects.toThrow(TOO_OLD);
  }
});

test('verifyWebhook names a secret that is not a webhook secret', async () => {
  for (const secret of ['', 'whsec_', 'whsec_%%%']) {
    await expect(verifyWebhook(webhookOf(requests[0]!, { secret }))).rejects.toThrow('The secret must be');
  }
  await expect(verifyWebhook(webhookOf(requests[0]!, { secrets: [] }))).rejects.toThrow(NOT_SIGNED);
});
