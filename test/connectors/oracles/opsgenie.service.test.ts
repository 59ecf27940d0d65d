import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { opsgenie } from '../../../src/connectors/types/opsgenie.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

/** The part of the package used here. The package itself has no types. */
type OpsgenieSdk = {
  configure(options: { host: string; api_key: string }): void;
  alertV2: {
    create(alert: object, done: (value: unknown) => void): void;
    close(identifier: object, body: object, done: (value: unknown) => void): void;
  };
};
const opsgenieSdk: OpsgenieSdk = createRequire(import.meta.url)('opsgenie-sdk');

const config = { apiKey: 'eb243592-faa2-4ba2-a551q-1afdf565c889', region: 'us' as const };
const memory = { 'open:ep_01jc9x2v5qe3w8k4m6n7p9r0st': '2026-01-02T03:00:00.000Z' };
const accepted = {
  statusCode: 202,
  headers: { 'content-type': 'application/json' },
  body: '{"result":"Request will be processed","took":0.1,"requestId":"1"}',
};

test('the Opsgenie connector creates the same alert as Opsgenie’s library', async () => {
  const ours = requestOf(opsgenie.build([sampleEvent('payment.failed')], config, sampleContext()));
  await using receiver = await startReceiver(() => accepted);
  opsgenieSdk.configure({ host: receiver.url, api_key: config.apiKey });
  await new Promise((resolve) => opsgenieSdk.alertV2.create(JSON.parse(ours.body ?? ''), resolve));

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  // The library adds a trailing slash that isn't in the documentation.
  expect(theirs?.path).toBe(`${new URL(ours.url).pathname}/`);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
});

test('the Opsgenie connector closes the alert the way the library does', async () => {
  const ours = requestOf(opsgenie.build([sampleEvent('payment.settled')], config, sampleContext({ memory })));
  await using receiver = await startReceiver(() => accepted);
  opsgenieSdk.configure({ host: receiver.url, api_key: config.apiKey });
  const identifier = encodeURIComponent('tollgate:ep_01jc9x2v5qe3w8k4m6n7p9r0st:payment_failed');
  const body = JSON.parse(ours.body ?? '');
  await new Promise((resolve) => opsgenieSdk.alertV2.close({ identifier, identifierType: 'alias' }, body, resolve));

  const [theirs] = await receiver.waitFor(1);
  const { pathname, search } = new URL(ours.url);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(`${pathname}/${search}`);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  expect(JSON.parse(String(theirs?.body))).toEqual(body);
});
