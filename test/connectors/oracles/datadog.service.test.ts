import { client, v1 } from '@datadog/datadog-api-client';
import { expect, test } from 'vitest';
import { datadog } from '../../../src/connectors/types/datadog.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { apiKey: '0123456789abcdef0123456789abcdef' };

function configuration(address: string) {
  const settings = client.createConfiguration({ authMethods: { apiKeyAuth: config.apiKey }, serverIndex: 1 });
  settings.setServerVariables({ protocol: 'http', name: address.replace('http://', '') });
  return settings;
}

test('the Datadog connector posts the same event as Datadog’s library', async () => {
  const ours = requestOf(datadog.build([sampleEvent('payment.failed')], config, sampleContext()));
  const expected = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({
    statusCode: 202,
    headers: { 'content-type': 'application/json' },
    body: '{"status":"ok"}',
  }));
  const events = new v1.EventsApi(configuration(receiver.url));
  await events.createEvent({
    body: {
      title: expected.title,
      text: expected.text,
      alertType: 'error',
      priority: 'normal',
      aggregationKey: 'tollgate:ep_01jc9x2v5qe3w8k4m6n7p9r0st',
      tags: expected.tags,
      sourceTypeName: 'tollgate',
      dateHappened: 1767323045,
    },
  });

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers['dd-api-key']).toBe(ours.headers['dd-api-key']);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(expected);
});

test('the Datadog connector validates the key the way the library does', async () => {
  const ours = datadog.probe?.build(config);
  await using receiver = await startReceiver(() => ({
    headers: { 'content-type': 'application/json' },
    body: '{"valid":true}',
  }));
  await new v1.AuthenticationApi(configuration(receiver.url)).validate();
  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours?.method);
  expect(theirs?.path).toBe(new URL(ours?.url ?? '').pathname);
  expect(theirs?.headers['dd-api-key']).toBe(ours?.headers['dd-api-key']);
});
