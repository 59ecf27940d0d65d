import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';
import {
  createConnector,
  createEndpoint,
  createProject,
  createWebhook,
  GOOD,
  type Resource,
} from '../support/resources.ts';

const ROUNDS = 20;

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

test('what is made in a project that is being deleted is made or not found, never a failure of ours', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { base } = await createProject(alice);
    const webhook = await createWebhook(alice, base);
    const endpoint = await createEndpoint(alice, base);
    const answers = await Promise.all([
      alice.rest('POST', `${base}/endpoints`, GOOD.endpoint),
      alice.rest('PATCH', `${base}/endpoints/${endpoint.id}`, { priceUsd: '7' }),
      alice.rest('POST', `${base}/webhooks`, GOOD.webhook),
      alice.rest('POST', `${base}/keys`, GOOD.key),
      alice.rest('POST', `${base}/connectors`, GOOD.connector),
      alice.rest('POST', `${base}/webhooks/${webhook.id}/test`),
      alice.rest('POST', `${base}/webhooks/${webhook.id}/rotate-secret`),
      alice.rest('DELETE', base),
    ]);
    for (const answer of answers) expect([200, 201, 204, 404], JSON.stringify(answer.body)).toContain(answer.status);
    expect(answers.at(-1)!.status).toBe(204);
  }
});

test('an event is recorded although its subscribers are being deleted', async () => {
  const { base } = await createProject(alice);
  for (let round = 0; round < ROUNDS; round++) {
    const webhook = await createWebhook(alice, base, { url: 'https://hooks.example.com/in' });
    const connector = await createConnector(alice, base, { eventTypes: ['endpoint.created'] });
    const path = `/round-${round}`;
    const answers = await Promise.all([
      alice.rest('POST', `${base}/endpoints`, { ...GOOD.endpoint, path: `${path}/a` }),
      alice.rest('DELETE', `${base}/webhooks/${webhook.id}`),
      alice.rest('POST', `${base}/endpoints`, { ...GOOD.endpoint, path: `${path}/b` }),
      alice.rest('DELETE', `${base}/connectors/${connector.id}`),
      alice.rest('POST', `${base}/endpoints`, { ...GOOD.endpoint, path: `${path}/c` }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 204, 201, 204, 201]);
  }
});

test('a delivery that is sent again while its webhook is being deleted is sent or not found', async () => {
  await using receiver = await startReceiver();
  const { base } = await createProject(alice);
  for (let round = 0; round < ROUNDS; round++) {
    const webhook = await createWebhook(alice, base, { url: receiver.url, eventTypes: ['payment.settled'] });
    await alice.rest('PATCH', `${base}/webhooks/${webhook.id}`, { isActive: false });
    const { body } = await alice.rest<Resource>('POST', `${base}/webhooks/${webhook.id}/test`);
    const [resent, deleted] = await Promise.all([
      alice.rest('POST', `${base}/deliveries/${body.id}/resend`),
      alice.rest('DELETE', `${base}/webhooks/${webhook.id}`),
    ]);
    expect([200, 404], JSON.stringify(resent.body)).toContain(resent.status);
    expect(deleted.status).toBe(204);
  }
});
