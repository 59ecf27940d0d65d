import { ColumnType, ContentType, UploadsAPI } from '@duneanalytics/client-sdk';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ConnectorRequest } from '../../../src/connectors/exchange.ts';
import { dune } from '../../../src/connectors/types/dune.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { type ReceivedRequest, startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { apiKey: 'dune-secret', namespace: 'my_team' };
const uploads = new UploadsAPI(config.apiKey);

/** The library has a fixed address, so this redirects its requests to the receiver. */
async function startDune() {
  const receiver = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '{}' }));
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', (url: string, options: RequestInit) =>
    fetch(url.replace('https://api.dune.com', receiver.url), options),
  );
  onTestFinished(() => {
    vi.unstubAllGlobals();
    return receiver.close();
  });
  return receiver;
}

function expectSame(theirs: ReceivedRequest | undefined, ours: ConnectorRequest) {
  const { pathname, search } = new URL(ours.url);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(pathname + search);
  expect(theirs?.headers['x-dune-api-key']).toBe(ours.headers['x-dune-api-key']);
}

test('the Dune connector inserts the same batch of every event type as the library', async () => {
  const [first, ...rest] = EVENT_TYPES.map((eventType) => sampleEvent(eventType));
  const context = sampleContext({ memory: { 'table:my_team/x402_events': 'created' } });
  const ours = requestOf(dune.build([first!, ...rest], config, context));
  const receiver = await startDune();
  await uploads.insert({
    namespace: 'my_team',
    table_name: 'x402_events',
    data: Buffer.from(ours.body ?? ''),
    content_type: ContentType.NDJson,
  });
  const [theirs] = await receiver.waitFor(1);
  expectSame(theirs, ours);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(String(theirs?.body)).toBe(ours.body);
});

test('the Dune connector creates the same table as the library, with column types from the library', async () => {
  const ours = requestOf(dune.build([sampleEvent('payment.settled')], config, sampleContext()));
  const table = JSON.parse(ours.body ?? '');
  const receiver = await startDune();
  await uploads.create(table);
  const [theirs] = await receiver.waitFor(1);
  expectSame(theirs, ours);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(table);
  for (const { type } of table.schema) expect(Object.values(ColumnType)).toContain(type);
});

test('the Dune connector lists uploads the way the library does', async () => {
  const receiver = await startDune();
  await uploads.list({ limit: 1 });
  expectSame((await receiver.waitFor(1))[0], dune.probe!.build(config));
});
