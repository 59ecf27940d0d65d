import twilioSdk from 'twilio';
import type RequestClient from 'twilio/lib/base/RequestClient.js';
import { expect, test } from 'vitest';
import { twilio } from '../../../src/connectors/types/twilio.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { classifyContext, requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const accountSid = 'AC0123456789abcdef0123456789abcdef';
const config = { accountSid, authToken: 't0ken', from: '+15005550006', to: '+15558675310' };

/** The library has no base URL setting, so this transport replaces the host. */
class LoopbackClient extends twilioSdk.RequestClient {
  readonly receiver: Receiver;
  readonly hosts: string[] = [];

  constructor(receiver: Receiver) {
    super();
    this.receiver = receiver;
  }

  override request<TData>(options: RequestClient.RequestOptions<TData>) {
    const { origin } = new URL(options.uri);
    this.hosts.push(origin);
    return super.request<TData>({ ...options, uri: options.uri.replace(origin, this.receiver.url) });
  }
}

test.each(EVENT_TYPES)('the Twilio connector sends the same SMS for %s as Twilio’s library', async (eventType) => {
  const ours = requestOf(twilio.build([sampleEvent(eventType)], config, sampleContext()));
  const form = new URLSearchParams(ours.body);
  await using receiver = await startReceiver(() => ({ statusCode: 201, body: '{"sid":"SM1","status":"queued"}' }));
  const httpClient = new LoopbackClient(receiver);
  await twilioSdk(accountSid, config.authToken, { httpClient }).messages.create({
    to: config.to,
    from: config.from,
    body: form.get('Body')!,
    validityPeriod: Number(form.get('ValidityPeriod')),
  });

  const [theirs] = await receiver.waitFor(1);
  expect(httpClient.hosts).toEqual([new URL(ours.url).origin]);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(Object.fromEntries(new URLSearchParams(String(theirs?.body)))).toEqual(Object.fromEntries(form));
});

test('the Twilio connector calls the same regional host as the library', async () => {
  const ours = requestOf(twilio.build([sampleEvent('payment.settled')], { ...config, region: 'ie1' }, sampleContext()));
  await using receiver = await startReceiver(() => ({ statusCode: 201, body: '{"sid":"SM1"}' }));
  const httpClient = new LoopbackClient(receiver);
  const client = twilioSdk(accountSid, config.authToken, { httpClient, region: 'ie1', edge: 'dublin' });
  await client.messages.create({ to: config.to, from: config.from, body: 'x' });
  expect(httpClient.hosts).toEqual([new URL(ours.url).origin]);
});

test('the Twilio connector looks up sent messages the way the library does', async () => {
  const context = classifyContext(config, sampleEvent('payment.settled'), { previousAttemptAmbiguous: true });
  const ours = requestOf(twilio.build([sampleEvent('payment.settled')], config, context));
  await using receiver = await startReceiver(() => ({ body: '{"messages":[],"next_page_uri":null}' }));
  const client = twilioSdk(accountSid, config.authToken, { httpClient: new LoopbackClient(receiver) });
  await client.messages.page({ to: config.to, pageSize: 100 });

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  const [path, query] = (theirs?.path ?? '').split('?');
  expect(path).toBe(new URL(ours.url).pathname);
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual(Object.fromEntries(new URL(ours.url).searchParams));
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
});

test('the Twilio connector signs in with an API key the way the library does', async () => {
  const key = { apiKeySid: 'SK0123456789abcdef0123456789abcdef', apiKeySecret: 'k3ysecret' };
  const ours = requestOf(twilio.build([sampleEvent('payment.settled')], { ...config, ...key }, sampleContext()));
  await using receiver = await startReceiver(() => ({ statusCode: 201, body: '{"sid":"SM1"}' }));
  const httpClient = new LoopbackClient(receiver);
  const client = twilioSdk(key.apiKeySid, key.apiKeySecret, { accountSid, httpClient });
  await client.messages.create({ to: config.to, from: config.from, body: 'x' });

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
});
