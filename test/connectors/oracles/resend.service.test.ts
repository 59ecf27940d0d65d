import { Resend } from 'resend';
import { expect, test } from 'vitest';
import { resend } from '../../../src/connectors/types/resend.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const apiKey = 're_c1tpEyD8_NKFusih9vKVQknRAQfmFcWCv';
const config = { apiKey, from: 'Pay <p@x.example>', to: 'a@x.example, "Doe, Jane" <j@x.example>' };

test.each(EVENT_TYPES)('the Resend connector sends the same email for %s as Resend’s library', async (eventType) => {
  const ours = requestOf(resend.build([sampleEvent(eventType)], config, sampleContext()));
  const body = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({
    headers: { 'content-type': 'application/json' },
    body: '{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}',
  }));
  const client = new Resend(apiKey, { baseUrl: receiver.url });
  const { error } = await client.emails.send(body, { idempotencyKey: ours.headers['idempotency-key']! });
  expect(error).toBeNull();

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  for (const name of ['authorization', 'content-type', 'idempotency-key']) {
    expect(theirs?.headers[name]).toBe(ours.headers[name]);
  }
  expect(JSON.parse(String(theirs?.body))).toEqual(body);
});
