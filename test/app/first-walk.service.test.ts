import { Webhook as Receiver } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';

let app: TestApp;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  receiver = await startReceiver();
  app = await startTestApp();
});

afterAll(async () => {
  await app?.stop();
  await receiver?.close();
});

test('a new user with a token creates a webhook, receives a signed event, and finds it in the history', async () => {
  const alice = await app.user('alice');
  const project = await alice.rest<{ id: string }>('POST', '/api/projects', {
    name: 'Shop',
    walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  });
  expect(project.status).toBe(201);
  const base = `/api/projects/${project.body.id}`;
  const webhook = await alice.rest<{ id: string; secret: string }>('POST', `${base}/webhooks`, {
    url: `${receiver.url}/hook`,
    eventTypes: ['endpoint.created'],
  });
  expect(webhook.status).toBe(201);
  const endpoint = await alice.rest<{ id: string }>('POST', `${base}/endpoints`, {
    path: '/weather',
    upstreamUrl: 'https://api.example.com/weather',
    priceUsd: '0.01',
  });
  expect(endpoint.status).toBe(201);

  await receiver.waitFor(1);
  const received = receiver.requests[0]!;
  const event = new Receiver(webhook.body.secret).verify(
    received.body.toString(),
    received.headers as Record<string, string>,
  ) as { type: string; data: { endpointId: string } };
  expect(event).toMatchObject({ type: 'endpoint.created', data: { endpointId: endpoint.body.id } });

  await expect
    .poll(async () => {
      const history = await alice.rest<{ data: unknown[] }>('GET', `${base}/webhooks/${webhook.body.id}/deliveries`);
      return history.body.data[0];
    })
    .toMatchObject({ status: 'SUCCEEDED', statusCode: 200, retryCount: 0, eventType: 'endpoint.created' });
});
