import { Analytics } from '@segment/analytics-node';
import { expect, test } from 'vitest';
import { segment } from '../../../src/connectors/types/segment.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { writeKey: 'wk0123456789abcdefghijABCDEFGHIJ' };

test('the Segment connector sends the same order as Segment’s library', async () => {
  const ours = requestOf(segment.build([sampleEvent('payment.settled')], config, sampleContext()));
  const message = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({ body: '{"success":true}' }));
  const analytics = new Analytics({ writeKey: config.writeKey, host: receiver.url });
  analytics.track({
    userId: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
    event: 'Order Completed',
    messageId: '5143f0fa58e8fb394a1ca453ede2707f',
    timestamp: '2026-01-02T03:04:05.678Z',
    properties: message.properties,
  });
  await analytics.closeAndFlush();

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  // The library sends batches to `/v1/batch`. We send the same object to the path for a single call.
  expect(theirs?.path).toBe('/v1/batch');
  expect(new URL(ours.url).pathname).toBe('/v1/track');
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  const [{ type, _metadata, integrations, context, ...sent }] = JSON.parse(String(theirs?.body)).batch;
  expect(type).toBe('track');
  const { context: ourContext, ...expected } = message;
  // The library may format the same time differently.
  expect({ ...sent, timestamp: new Date(sent.timestamp).toISOString() }).toEqual(expected);
  expect(Object.keys(context.library)).toEqual(Object.keys(ourContext.library));
});
