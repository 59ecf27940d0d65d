import { BigQuery, type BigQueryOptions } from '@google-cloud/bigquery';
import { auth } from '@googleapis/sheets';
import { expect, test } from 'vitest';
import { bigquery } from '../../../src/connectors/types/bigquery.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { projectId: 'my-project-123', datasetId: 'payments', tableId: 'events', accessToken: 'ya29.token' };

function tableAt(apiEndpoint: string) {
  const credentials = new auth.OAuth2();
  credentials.setCredentials({ access_token: config.accessToken });
  // The same class from two releases of Google's authentication library, whose types are incompatible.
  const authClient = credentials as unknown as BigQueryOptions['authClient'];
  const client = new BigQuery({ projectId: config.projectId, apiEndpoint, authClient, autoRetry: false });
  return client.dataset(config.datasetId).table(config.tableId);
}

test.each(EVENT_TYPES)('the BigQuery connector inserts the same row for %s as Google’s library', async (eventType) => {
  const ours = requestOf(bigquery.build([sampleEvent(eventType)], config, sampleContext()));
  const { rows, ...options } = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '{}' }));
  await tableAt(receiver.url).insert(rows, { ...options, raw: true });

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path.split('?')[0]).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
});

test('the BigQuery connector reads the table from the same URL as the library', async () => {
  const ours = bigquery.probe?.build(config);
  await using receiver = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '{}' }));
  await tableAt(receiver.url).getMetadata();
  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours?.method);
  expect(theirs?.path.split('?')[0]).toBe(new URL(ours?.url ?? '').pathname);
});
