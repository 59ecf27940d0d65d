import { Client } from '@hubspot/api-client';
import { expect, test } from 'vitest';
import type { ConnectorRequest } from '../../../src/connectors/exchange.ts';
import { hubspot } from '../../../src/connectors/types/hubspot.ts';
import { type ReceivedRequest, startReceiver } from '../../support/receiver.ts';
import { drive } from '../support/drive.ts';
import { requestOf, sampleContext, sampleEvent, vendorResponse } from '../support/samples.ts';

const config = { accessToken: 'pat-eu1-secret' };

async function startHubspot(statusCode = 200) {
  const headers = { 'content-type': 'application/json' };
  const receiver = await startReceiver(() => ({ statusCode, headers, body: '{}' }));
  const client = new Client({ accessToken: config.accessToken, basePath: receiver.url, numberOfApiCallRetries: 0 });
  return { receiver, client };
}

// The library still calls the undated paths, which HubSpot is retiring. The bodies are the same.
function expectSame(theirs: ReceivedRequest | undefined, ours: ConnectorRequest) {
  const undated = new URL(ours.url).pathname.replace(/^\/crm\/(objects|properties)\/2026-03\//, '/crm/v3/$1/');
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path.split('?')[0]).toBe(undated);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  if (!ours.body) return;
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body));
}

test.each(['customer.first_payment', 'customer.milestone'] as const)(
  'the HubSpot connector upserts the same contact for %s as the library',
  async (eventType) => {
    const ours = requestOf(hubspot.build([sampleEvent(eventType)], config, sampleContext()));
    const { receiver, client } = await startHubspot();
    await using _ = receiver;
    await client.crm.contacts.batchApi.upsert(JSON.parse(ours.body ?? ''));
    expectSame((await receiver.waitFor(1))[0], ours);
  },
);

test('the HubSpot connector sends the same request to the dated path as the library’s generic request', async () => {
  const ours = requestOf(hubspot.build([sampleEvent('customer.milestone')], config, sampleContext()));
  const { receiver, client } = await startHubspot();
  await using _ = receiver;
  await client.apiRequest({ method: 'POST', path: new URL(ours.url).pathname, body: JSON.parse(ours.body ?? '') });
  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
});

test('the HubSpot connector creates the properties the way the library does', async () => {
  const unknown = vendorResponse(400, { errors: [{ code: 'PROPERTY_DOESNT_EXIST' }] });
  const { requests } = drive(hubspot, config, [sampleEvent('customer.milestone')], () => unknown);
  const ours = requests[1]!;
  const { receiver, client } = await startHubspot(201);
  await using _ = receiver;
  await client.crm.properties.batchApi.create('contacts', JSON.parse(ours.body ?? ''));
  expectSame((await receiver.waitFor(1))[0], ours);
});

test('the HubSpot connector probes with the same property request as the library', async () => {
  const { receiver, client } = await startHubspot();
  await using _ = receiver;
  await client.crm.properties.coreApi.getByName('contacts', 'x402_wallet');
  expectSame((await receiver.waitFor(1))[0], hubspot.probe!.build(config));
});

test('the HubSpot connector names a contact the way the library does', async () => {
  const created = vendorResponse(200, { results: [{ id: '101', new: true }] });
  const { requests } = drive(hubspot, config, [sampleEvent('customer.milestone')], () => created);
  const ours = requests[1]!;
  const { receiver, client } = await startHubspot();
  await using _ = receiver;
  await client.crm.contacts.basicApi.update('101', JSON.parse(ours.body ?? ''));
  expectSame((await receiver.waitFor(1))[0], ours);
});
