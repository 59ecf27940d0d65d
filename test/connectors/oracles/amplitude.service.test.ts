import { createInstance } from '@amplitude/analytics-node';
import { expect, test } from 'vitest';
import { amplitude } from '../../../src/connectors/types/amplitude.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { apiKey: 'a1b2c3d4e5f60718293a4b5c6d7e8f90' };

test('the Amplitude connector sends the same payment as Amplitude’s library', async () => {
  const ours = requestOf(amplitude.build([sampleEvent('payment.settled')], config, sampleContext()));
  const expected = JSON.parse(ours.body ?? '');
  const [event] = expected.events;
  await using receiver = await startReceiver(() => ({ body: '{"code":200,"events_ingested":1}' }));
  const client = createInstance();
  await client.init(config.apiKey, { serverUrl: `${receiver.url}/2/httpapi`, minIdLength: 1, flushIntervalMillis: 1 })
    .promise;
  await client.track('payment.settled', event.event_properties, {
    user_id: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
    insert_id: '5143f0fa58e8fb394a1ca453ede2707f',
    time: 1767323045678,
    price: 0.01,
    quantity: 1,
    productId: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
    revenueType: 'payment',
    currency: 'USD',
  }).promise;

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  // The library also adds its own name, counters, and a random device.
  expect(JSON.parse(String(theirs?.body))).toMatchObject(expected);
});
