import Mixpanel from 'mixpanel';
import { expect, test } from 'vitest';
import { mixpanel } from '../../../src/connectors/types/mixpanel.ts';
import { startReceiver } from '../../support/receiver.ts';
import { redirectHttps } from '../support/redirect-https.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { projectToken: 'a1b2c3d4e5f60718293a4b5c6d7e8f90' };

test('the Mixpanel connector imports the same payment as Mixpanel’s library', async () => {
  const ours = requestOf(mixpanel.build([sampleEvent('payment.settled')], config, sampleContext()));
  const [{ event, properties }] = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({ body: '1' }));
  using _redirection = redirectHttps(receiver.port);
  // The library supports Basic authentication only with the older secret. We send the project token in the same place.
  const logger = { ...console, warn: () => {} };
  const client = Mixpanel.init(config.projectToken, { host: 'api.mixpanel.com', secret: config.projectToken, logger });
  const record = { event, properties: { ...properties } };
  const failures = await new Promise((resolve) => client.import_batch([record], resolve));
  expect(failures).toBeFalsy();

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.headers.host).toBe(new URL(ours.url).host);
  expect(theirs?.path.split('?')[0]).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  // The library still wraps the records in a form and repeats the token in each record. We send the JSON inside the
  // form.
  const form = new URLSearchParams(String(theirs?.body).replaceAll('+', '%2B'));
  const [sent] = JSON.parse(Buffer.from(form.get('data') ?? '', 'base64').toString());
  const { token, ...sentProperties } = sent.properties;
  expect(token).toBe(config.projectToken);
  expect({ event: sent.event, properties: sentProperties }).toEqual({ event, properties });
});
