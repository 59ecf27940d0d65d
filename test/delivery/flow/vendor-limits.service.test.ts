import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConnectorDefinition, defineConnector, type VendorLimit } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
let workers: DeliveryWorker[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  await stage.pool.query('TRUNCATE "Delivery", "Attempt", "Connector", "RateLimit" CASCADE');
  receiver = await startReceiver();
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
  await receiver.close();
});
afterAll(() => stage.close());

const config = z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) });

/** A connector type with a vendor limit. It sends nothing for events of the type in `skips`. */
function typeWithLimit(limit: Partial<VendorLimit>, skips?: string): ConnectorDefinition {
  return defineConnector<z.infer<typeof config>>({
    type: 'slack',
    title: 'Limited',
    category: 'Communication',
    description: 'For tests.',
    documentationUrl: 'https://example.com',
    config,
    supportsEvent: () => true,
    vendorLimit: { count: 1, perSeconds: 1, documentationUrl: 'https://example.com/limits', ...limit },
    build: ([event], { url }) =>
      event.type === skips ? { skip: 'Not needed.' } : { method: 'POST', url, headers: {} },
    classify: ({ statusCode }) =>
      statusCode === 200 ? { kind: 'delivered' } : { kind: 'retry', reason: `Status ${statusCode}` },
  }) as unknown as ConnectorDefinition;
}

const start = (definition: ConnectorDefinition) => workers.push(stage.startWorker({}, { connectors: [definition] }));
const addConnector = (values: Record<string, unknown> = {}) =>
  stage.addConnector('slack', { url: receiver.url }, values);

test("a connector's own limit applies if it is lower", async () => {
  await stage.addDeliveries(await addConnector({ maxPerSecond: 0.01 }), 3);
  start(typeWithLimit({ count: 100 }));
  // A claim that began before the limit was known may take another delivery, which is then put back.
  await expect.poll(() => stage.countBy('PENDING')).toBe(2);
  await expect.poll(() => stage.countBy('SUCCEEDED')).toBe(1);
  expect(receiver.requests).toHaveLength(1);
});

test('events for which nothing is sent take up no slots', async () => {
  await stage.addDeliveries(await addConnector(), 40);
  start(typeWithLimit({ count: 12, perSeconds: 60, burst: 10 }, 'endpoint.created'));
  await expect.poll(() => stage.countBy('SKIPPED')).toBe(40);
});
