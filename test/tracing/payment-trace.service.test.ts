import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTracing, type Tracing } from '../../src/tracing/start.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createWebhook } from '../support/resources.ts';
import { attributeOf, CALLER, CALLER_TRACEPARENT, spansOfCaller, wayToCaller } from './spans.ts';

let collector: Receiver;
let tracing: Tracing | undefined;
let rails: Rails;
let gateway: TestApp;
let worker: TestApp;

beforeAll(async () => {
  collector = await startReceiver();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  tracing = await startTracing(process.env);
  rails = await startRails();
  gateway = await startTestApp({ env: { ...rails.env, ROLES: 'api,gateway' } });
  const { databaseUrl, dataDir } = gateway;
  worker = await startTestApp({ databaseUrl, dataDir, env: { ...rails.env, ROLES: 'worker' } });
});
afterAll(async () => {
  await worker?.stop();
  await gateway?.stop();
  await tracing?.stop();
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  await Promise.all([rails?.close(), collector?.close()]);
});

const spanIdOf = (traceparent: unknown) => {
  const [, traceId, spanId] = String(traceparent).split('-');
  expect(traceId).toBe(CALLER.traceId);
  return spanId!;
};

test('one trace covers a paid request, the upstream call, the settlement, and the webhook deliveries', async () => {
  await using upstream = await startReceiver();
  await using receiver = await startReceiver();
  const owner = await gateway.user('alice');
  const shop = await createShop(gateway, owner, { '/weather': { upstreamUrl: upstream.url } });
  const eventTypes = ['payment.verified', 'payment.settled'];
  await createWebhook(owner, shop.base, { url: receiver.url, eventTypes });
  const headers = { ...v2Headers(await sign(await rails.wallet())), traceparent: CALLER_TRACEPARENT };
  const response = await fetch(`${shop.url}/weather`, { headers });
  expect(response.status).toBe(200);
  const paymentId = response.headers.get('tollgate-payment-id')!;

  const received = await receiver.waitFor(2);
  const isDone = async () => {
    const query = `{ project(id: "${shop.projectId}") { deliveries { nodes { status } } } }`;
    const { data } = await owner.graphql<{ project: { deliveries: { nodes: { status: string }[] } } }>(query);
    return data!.project.deliveries.nodes.map(({ status }) => status);
  };
  await expect.poll(isDone).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  // Flushes all spans.
  await tracing!.stop();
  const spans = spansOfCaller(collector);

  const request = 'GET /gateway/:projectId/*';
  const steps = spans.filter(({ name }) => name.startsWith('payment '));
  expect(steps.map(({ name }) => name).sort()).toEqual([
    'payment claim',
    'payment settle',
    'payment upstream',
    'payment verify',
  ]);
  for (const step of steps) expect(wayToCaller(spans, step.parentSpanId)).toEqual([request]);
  const [served] = spans.filter(({ name }) => name === request);
  expect(JSON.stringify(spans)).toContain(paymentId);
  expect(attributeOf(served!, 'http.response.status_code')).toBe('200');
  expect(wayToCaller(spans, spanIdOf(upstream.requests[0]!.headers.traceparent))).toEqual(
    expect.arrayContaining(['payment upstream', request]),
  );

  // A delivery's parent is the step that recorded the event: `verify` or `settle`.
  const cameFrom: Record<string, string[]> = {
    'payment.verified': ['payment verify', request],
    'payment.settled': ['payment settle', request],
  };
  for (const { headers: sent, body } of received) {
    const way = wayToCaller(spans, spanIdOf(sent.traceparent));
    expect(way).toEqual(['POST', 'delivery', ...cameFrom[JSON.parse(body.toString()).type]!]);
  }
  const told = spans.filter(({ name }) => name === 'delivery').map((span) => attributeOf(span, 'tollgate.event.type'));
  expect(told.sort()).toEqual([...eventTypes].sort());
});
