import { Connection } from 'jsforce';
import { expect, test } from 'vitest';
import { salesforce } from '../../../src/connectors/types/salesforce.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { instanceUrl: 'https://acme.my.salesforce.com', accessToken: '00D5g!AQEAQ.token' };
const connect = (instanceUrl: string) =>
  new Connection({ instanceUrl, accessToken: config.accessToken, version: '66.0', maxRequest: 1 });

test.each(EVENT_TYPES)('the Salesforce connector upserts the same record as jsforce for %s', async (eventType) => {
  const event = sampleEvent(eventType);
  const ours = requestOf(salesforce.build([event], config, sampleContext()));
  const record = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({
    statusCode: 201,
    headers: { 'content-type': 'application/json' },
    body: '{"id":"a01","success":true,"errors":[]}',
  }));
  await connect(receiver.url)
    .sobject('X402_Event__c')
    .upsert({ ...record, Event_Id__c: event.id }, 'Event_Id__c');

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(record);
});

test('the Salesforce connector describes the object at the same URL as the library', async () => {
  const ours = salesforce.probe?.build(config);
  await using receiver = await startReceiver(() => ({
    headers: { 'content-type': 'application/json' },
    body: '{"fields":[]}',
  }));
  await connect(receiver.url).sobject('X402_Event__c').describe();
  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours?.method);
  expect(theirs?.path).toBe(new URL(ours?.url ?? '').pathname);
});
