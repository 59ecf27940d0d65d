import { PostgrestClient } from '@supabase/postgrest-js';
import { expect, test } from 'vitest';
import { supabase } from '../../../src/connectors/types/supabase.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { url: 'https://abcdefghijklmnopqrst.supabase.co', apiKey: 'sb_secret_abc123' };
const client = (url: string) => new PostgrestClient(`${url}/rest/v1`, { headers: { apikey: config.apiKey } });

test.each(EVENT_TYPES)(
  'the Supabase connector upserts the same row for %s as PostgREST’s library',
  async (eventType) => {
    const ours = requestOf(supabase.build([sampleEvent(eventType)], config, sampleContext()));
    const row = JSON.parse(ours.body ?? '');
    await using receiver = await startReceiver(() => ({ statusCode: 201 }));
    await client(receiver.url).from('payment_events').upsert(row, { onConflict: 'event_id', ignoreDuplicates: true });

    const [theirs] = await receiver.waitFor(1);
    const { pathname, search } = new URL(ours.url);
    expect(theirs?.method).toBe(ours.method);
    expect(theirs?.path).toBe(pathname + search);
    expect(theirs?.headers.apikey).toBe(ours.headers.apikey);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    // The library omits `return=minimal`, which is the server's default.
    expect(ours.headers.prefer?.split(',')).toEqual([theirs?.headers.prefer, 'return=minimal']);
    expect(JSON.parse(String(theirs?.body))).toEqual(row);
  },
);

test('the Supabase connector probes with the same query as the library', async () => {
  const ours = supabase.probe?.build(config);
  await using receiver = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '[]' }));
  await client(receiver.url).from('payment_events').select('event_id').limit(0);
  const [theirs] = await receiver.waitFor(1);
  const { pathname, search } = new URL(ours?.url ?? '');
  expect(theirs?.method).toBe(ours?.method);
  expect(theirs?.path).toBe(pathname + search);
});
