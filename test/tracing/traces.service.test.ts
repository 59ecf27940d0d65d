import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracing, type Tracing } from '../../src/tracing/start.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createProject, createWebhook } from '../support/resources.ts';
import { startServiceNode } from '../support/service-node.ts';
import { CALLER, CALLER_TRACEPARENT, spansOfCaller, wayToCaller } from './spans.ts';

let collector: Receiver;
let tracing: Tracing | undefined;
let app: TestApp;

beforeAll(async () => {
  collector = await startReceiver();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  tracing = await startTracing(process.env);
  app = await startTestApp();
});
afterAll(async () => {
  await app.stop();
  await tracing?.stop();
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  await collector.close();
});

test("one trace covers a caller's request and the webhook delivery, which includes the trace ID", async () => {
  await using receiver = await startReceiver();
  const user = await app.user('alice');
  const { base } = await createProject(user);
  const webhook = await createWebhook(user, base, { url: receiver.url });
  const path = `${base}/webhooks/${webhook.id}`;
  const sent = await user.rest<{ id: string }>(
    'POST',
    `${path}/test`,
    { eventType: 'payment.settled' },
    { traceparent: CALLER_TRACEPARENT },
  );

  const [received] = await receiver.waitFor(1);
  const [, traceId, sentSpanId] = String(received!.headers.traceparent).split('-');
  expect(traceId).toBe(CALLER.traceId);

  const statusOf = async () =>
    (await user.rest<{ status: string }>('GET', `${base}/deliveries/${sent.body.id}`)).body.status;
  await expect.poll(statusOf).toBe('SUCCEEDED');
  // Flushes all spans.
  await tracing!.stop();
  const spans = spansOfCaller(collector);
  const names = wayToCaller(spans, sentSpanId);
  expect(names).toEqual([
    'POST',
    'delivery',
    'GraphQL mutation',
    'POST /api/projects/:projectId/webhooks/:webhookId/test',
  ]);
  const delivery = spans.find(({ name }) => name === 'delivery');
  expect(delivery!.attributes).toContainEqual({
    key: 'tollgate.event.type',
    value: { stringValue: 'payment.settled' },
  });
  for (const secret of [webhook.secret, user.token]) {
    expect(collector.requests.some(({ body }) => body.includes(secret))).toBe(false);
  }
});

test('without a collector, tracing is off and webhooks have no traceparent', async () => {
  await tracing!.stop();
  expect(await startTracing({})).toBeUndefined();
  expect(await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  await using receiver = await startReceiver();
  const user = await app.user('bob');
  const { base } = await createProject(user);
  const webhook = await createWebhook(user, base, { url: receiver.url });
  await user.rest('POST', `${base}/webhooks/${webhook.id}/test`, {});
  const [received] = await receiver.waitFor(1);
  expect(received!.headers).not.toHaveProperty('traceparent');
});

test('a process whose last traces are rejected ends as usual, without printing what the collector quotes', async () => {
  await using quoting = await startReceiver(({ headers }) => ({ statusCode: 400, body: JSON.stringify(headers) }));
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: quoting.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=very-secret',
    // Only the last export fails.
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  };
  const { databaseUrl, dataDir } = app;
  const node = await startServiceNode({ role: 'api', databaseUrl, dataDir, env });
  await fetch(`${node.url}/api/projects`);
  expect(await node.end()).toBe(0);
  expect(quoting.requests.map(({ headers }) => headers['x-key'])).toContain('very-secret');
  expect(node.printed()).toContain("couldn't export the last traces");
  expect(node.printed()).not.toContain('very-secret');
});
