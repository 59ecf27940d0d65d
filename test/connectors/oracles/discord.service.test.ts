import { REST } from '@discordjs/rest';
import { expect, test } from 'vitest';
import { discord } from '../../../src/connectors/types/discord.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const webhookUrl = 'https://discord.com/api/webhooks/1234567890123456789/AbC-dEf_123?thread_id=77';

test.each(EVENT_TYPES)('the Discord connector sends the same message for %s as discord.js', async (eventType) => {
  const ours = requestOf(discord.build([sampleEvent(eventType)], { webhookUrl }, sampleContext()));
  const body = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({
    headers: { 'content-type': 'application/json' },
    body: '{"id":"1"}',
  }));
  const rest = new REST({ api: `${receiver.url}/api`, version: '10' });
  await rest.post('/webhooks/1234567890123456789/AbC-dEf_123', {
    auth: false,
    query: new URLSearchParams({ wait: 'true', thread_id: '77' }),
    body,
  });

  const [theirs] = await receiver.waitFor(1);
  const { pathname, search } = new URL(ours.url);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(pathname + search);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  const userAgent = /^DiscordBot \(https:\/\/[^ ,]+, [\d.]+\)/;
  expect(theirs?.headers['user-agent']).toMatch(userAgent);
  expect(ours.headers['user-agent']).toMatch(userAgent);
  expect(theirs?.headers).not.toHaveProperty('authorization');
  expect(JSON.parse(String(theirs?.body))).toEqual(body);
});
