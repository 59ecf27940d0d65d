import { describe, expect, test } from 'vitest';
import { discord } from '../../../src/connectors/types/discord.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
import {
  accepts,
  builtJson,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const webhookUrl = 'https://discord.com/api/webhooks/1234567890123456789/AbC-dEf_123';
const config = { webhookUrl };
type Config = { webhookUrl: string; threadId?: string; threadName?: string; appliedTags?: string[] };
const settled = sampleEvent('payment.settled');

/** The response to every request from a banned address. It has no time. */
const BANNED = {
  message: 'You are being blocked from accessing our API temporarily due to exceeding our rate limits frequently.',
  code: 0,
};

type Field = { name: string; value: string; inline: boolean };
type Embed = { title: string; description?: string; fields: Field[]; footer: { text: string } };
type Body = { allowed_mentions: object; embeds: [Embed] };

describe('a Discord request', () => {
  test('posts one embed and waits until it is stored', () => {
    const context = sampleContext({ consoleUrl: 'https://console.example.com/events/evt_1' });
    const request = requestOf(discord.build([settled], config, context));
    expect(request).toMatchObject({
      method: 'POST',
      url: 'https://discord.com/api/v10/webhooks/1234567890123456789/AbC-dEf_123?wait=true',
      headers: { 'content-type': 'application/json' },
    });
    expect(request.headers['user-agent']).toMatch(/^DiscordBot \(https:\/\/\S+, [\d.]+\)$/);
    expect(JSON.parse(request.body ?? '')).toEqual({
      username: 'Payments',
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: 'Payment settled',
          url: 'https://console.example.com/events/evt_1',
          description: '0.01 USDC',
          color: 0x2ecc71,
          fields: [
            { name: 'Amount', value: '0.01 USDC', inline: true },
            { name: 'Endpoint', value: 'GET /weather', inline: true },
            { name: 'Payer', value: '0x1F98431c8aD98523631AE4a59f267346ea31F984', inline: false },
            { name: 'Network', value: 'Base Sepolia \\(test network\\)', inline: true },
            { name: 'Transaction', value: `0x${'5e'.repeat(32)}`, inline: false },
            { name: 'Project', value: 'Weather API', inline: true },
            {
              name: 'Links',
              value: `[View the transaction](https://sepolia.basescan.org/tx/0x${'5e'.repeat(32)})  ·  [Open in the console](<https://console.example.com/events/evt_1>)`,
              inline: false,
            },
          ],
          footer: { text: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st' },
          timestamp: '2026-01-02T03:04:05.678Z',
        },
      ],
    });
  });

  test.each([
    ['https://discord.com/api/webhooks/1/a', 'https://discord.com/api/v10/webhooks/1/a?wait=true'],
    ['https://discordapp.com/api/v6/webhooks/1/a/', 'https://discord.com/api/v10/webhooks/1/a?wait=true'],
    ['https://ptb.discord.com/api/webhooks/1/a?wait=false', 'https://discord.com/api/v10/webhooks/1/a?wait=true'],
    [
      'https://discord.com/api/webhooks/1/a?thread_id=77&x=1',
      'https://discord.com/api/v10/webhooks/1/a?wait=true&thread_id=77',
    ],
  ])('posts %s to %s', (pasted, url) => {
    expect(requestOf(discord.build([settled], { webhookUrl: pasted }, sampleContext())).url).toBe(url);
  });

  test('posts to a thread, or creates posts with tags', () => {
    const built = (settings: Config) => requestOf(discord.build([settled], settings, sampleContext()));
    const toThread = built({ webhookUrl: `${webhookUrl}?thread_id=66`, threadId: '77' });
    expect(new URL(toThread.url).searchParams.get('thread_id')).toBe('77');
    expect(JSON.parse(toThread.body ?? '')).not.toHaveProperty('thread_name');
    const post = built({ webhookUrl, threadName: 'Payment', appliedTags: ['1', '2'] });
    expect(new URL(post.url).searchParams.has('thread_id')).toBe(false);
    expect(JSON.parse(post.body ?? '')).toMatchObject({ thread_name: 'Payment', applied_tags: ['1', '2'] });
    for (const thread of [{ threadId: '77' }, { webhookUrl: `${webhookUrl}?thread_id=77` }]) {
      const both = built({ webhookUrl, threadName: 'Payment', appliedTags: ['1'], ...thread });
      expect(new URL(both.url).searchParams.get('thread_id')).toBe('77');
      expect(Object.keys(JSON.parse(both.body ?? ''))).toEqual(['username', 'allowed_mentions', 'embeds']);
    }
  });

  test.each(EVENT_TYPES)('sends %s', (eventType) => {
    expect(discord.supportsEvent(eventType, new Set())).toBe(true);
    const body: Body = builtJson(discord, config, sampleEvent(eventType));
    for (const { name } of body.embeds[0].fields) expect(name).not.toBe('');
  });

  test('marks a test event', () => {
    const body: Body = builtJson(discord, config, testEvent());
    expect(body.embeds[0].title).toBe('\\[Test\\] Payment settled');
    expect(body.embeds[0].fields[0]?.name).toBe('Test');
  });

  test.each(EVENT_TYPES)('shows any text in %s without mentions, links, or formatting', (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const context = sampleContext({ projectName: text });
      const body: Body = builtJson(discord, config, hostileEvent(eventType, text), context);
      expect(body.allowed_mentions).toEqual({ parse: [] });
      const [{ description = '', fields }] = body.embeds;
      for (const value of [description, ...fields.map((field) => field.value)]) {
        const withoutEscapes = value.replaceAll(/\\[^A-Za-z0-9\s]/g, '');
        expect(withoutEscapes).not.toMatch(/[\\*_~`|>#[\]()<@]|:\/\//);
        expect(withoutEscapes).not.toMatch(/^[-+] |^\d+\. /);
      }
    }
  });
});

describe('reading Discord responses', () => {
  const outcomeOf = (statusCode: number, body: string | object, headers = {}, settings: Config = config) =>
    discord.classify(vendorResponse(statusCode, body, headers), classifyContext(settings, settled));

  test.each([
    [200, { id: '1' }, 'delivered'],
    [200, '', 'retry'],
    [200, '<html>', 'retry'],
    [204, '', 'delivered'],
    [400, { code: 50035, message: 'Invalid Form Body' }, 'drop'],
    [400, { code: 220001, message: 'Webhooks posted to forum channels must have a thread' }, 'pause'],
    [400, { code: 200000, message: 'Message was blocked by automatic moderation' }, 'drop'],
    [400, { code: 240000, message: 'Message blocked by harmful links filter' }, 'drop'],
    [400, { code: 10003, message: 'Unknown Channel' }, 'disable'],
    [400, { code: 50083, message: 'Thread is archived' }, 'pause'],
    [403, { code: 160005, message: 'Thread is locked' }, 'pause'],
    [400, { code: 160006, message: 'Maximum number of active threads reached' }, 'pause'],
    [400, { code: 40066, message: 'There are no tags available that can be set by non-moderators' }, 'pause'],
    [400, { code: 40067, message: 'A tag is required to create a forum post in this channel' }, 'pause'],
    [400, { code: 220003, message: 'Webhooks can only create threads in forum channels' }, 'pause'],
    [400, { code: 200001, message: 'Title was blocked by automatic moderation' }, 'drop'],
    [400, { code: 50035, errors: { thread_name: { _errors: [] } } }, 'pause'],
    [400, { code: 50035, errors: { applied_tags: { _errors: [] } } }, 'pause'],
    [400, {}, 'drop'],
    [401, { code: 50027, message: 'Invalid Webhook Token' }, 'pause'],
    [401, {}, 'pause'],
    [403, { code: 40333, message: 'internal network error' }, 'retry'],
    [403, '<html>Sorry, you have been blocked</html>', 'retry'],
    [403, '', 'retry'],
    [429, BANNED, 'blocked'],
    [429, 'error code: 1015', 'blocked'],
    [429, '<html><h1>Error</h1><span>1015</span></html>', 'blocked'],
    [429, {}, 'retry'],
    [403, { code: 50013 }, 'pause'],
    [404, { code: 10015, message: 'Unknown Webhook' }, 'disable'],
    [404, '', 'disable'],
    [429, '', 'blocked'],
    [500, { code: 10015 }, 'retry'],
    [502, '<html>', 'retry'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(outcomeOf(statusCode, body).kind).toBe(kind);
  });

  test.each([
    [50083, /^The Discord thread is archived\. Unarchive it/],
    [160005, /^The Discord thread is locked\. Unlock it/],
    [40067, /^This Discord channel requires a tag for every post/],
    [220001, /^This Discord channel accepts only posts\. Save a post's thread ID, or a post name/],
  ])('explains code %i', (code, reason) => {
    expect(outcomeOf(400, { code })).toEqual({ kind: 'pause', reason: expect.stringMatching(reason) });
  });

  test('pauses if the thread is missing, and disables if the channel is', () => {
    const missing = { code: 10003, message: 'Unknown Channel' };
    expect(outcomeOf(404, missing).kind).toBe('disable');
    for (const settings of [{ webhookUrl, threadId: '77' }, { webhookUrl: `${webhookUrl}?thread_id=77` }]) {
      expect(outcomeOf(404, missing, {}, settings)).toEqual({
        kind: 'pause',
        reason: "Discord can't find the thread in this channel. Save the ID of another thread.",
      });
    }
  });

  test('waits as long as the body says, or else as long as the header says', () => {
    const headers = { 'retry-after': '65' };
    expect(outcomeOf(429, { retry_after: 64.57, global: false }, headers)).toMatchObject({ afterSeconds: 65 });
    expect(outcomeOf(429, { retry_after: 0.3 })).toMatchObject({ afterSeconds: 1 });
    expect(outcomeOf(429, {}, headers)).toMatchObject({ afterSeconds: 65 });
  });

  test('says that the address is blocked, and waits for minutes or as long as the firewall says', () => {
    const reason = expect.stringMatching(/^Discord is blocking requests from this service's IP address \(HTTP 429\)\./);
    expect(outcomeOf(429, BANNED)).toEqual({ kind: 'blocked', reason, afterSeconds: 300 });
    expect(outcomeOf(429, 'error code: 1015', { 'retry-after': '30' })).toMatchObject({ afterSeconds: 300 });
    expect(outcomeOf(429, '<html>', { 'retry-after': '3600' })).toMatchObject({ afterSeconds: 3600 });
    expect(outcomeOf(429, '', { 'retry-after': '9999999' })).toMatchObject({ afterSeconds: 86_400 });
  });

  test("doesn't hold back other connectors if the firewall refused a request, possibly because of its content", () => {
    const refused = { kind: 'retry', reason: "Discord's firewall refused this request (HTTP 403).", afterSeconds: 300 };
    expect(outcomeOf(403, { code: 40333 })).toEqual(refused);
    expect(outcomeOf(403, '<html>')).toEqual(refused);
  });

  test("applies the global limit to the service's address, because webhooks don't sign in", () => {
    const limited = { message: 'You are being rate limited.', retry_after: 64.57, global: true };
    expect(outcomeOf(429, limited)).toEqual({
      kind: 'blocked',
      reason: expect.stringMatching(/all requests from this service's IP address/),
      afterSeconds: 65,
    });
  });

  test('names the rejected field', () => {
    const errors = { embeds: { 0: { title: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message: 'x' }] } } } };
    expect(outcomeOf(400, { code: 50035, errors })).toEqual({
      kind: 'drop',
      reason: 'Discord rejected the message (embeds.0.title).',
    });
    expect(outcomeOf(400, { code: 50035, errors: { '<b>': {} } })).toEqual({
      kind: 'drop',
      reason: 'Discord rejected the message.',
    });
  });
});

describe('the Discord config', () => {
  test.each([
    [webhookUrl, true],
    ['https://canary.discord.com/api/v10/webhooks/1/a', true],
    ['https://discord.com/api/webhooks/1/a?thread_id=77', true],
    ['https://discord.com/api/webhooks/1/a?thread_id=x', false],
    ['https://discord.com/api/webhooks/1/a/slack', false],
    ['https://discord.com/api/webhooks/1/a/github', false],
    ['https://discord.com/api/webhooks/x/a', false],
    ['https://discord.com/channels/1/2', false],
    ['https://discord.com.evil.example/api/webhooks/1/a', false],
    ['https://evildiscord.com/api/webhooks/1/a', false],
    ['http://discord.com/api/webhooks/1/a', false],
    ['https://discord.com:8443/api/webhooks/1/a', false],
  ])('accepts %s: %s', (url, isAccepted) => {
    expect(accepts(discord, { webhookUrl: url })).toBe(isAccepted);
  });
});

test.each([
  [{ threadId: '77' }, true],
  [{ threadName: 'Payment' }, true],
  [{ threadName: 'Payment', appliedTags: ['77'] }, true],
  [{ threadId: 'x' }, false],
  [{ threadName: 'x'.repeat(101) }, false],
  [{ threadName: 'Payment', threadId: '77' }, true],
  [{ appliedTags: ['77'] }, false],
  [{ threadName: 'Payment', appliedTags: [] }, false],
  [{ threadName: 'Payment', appliedTags: ['urgent'] }, false],
  [{ threadName: 'Payment', appliedTags: ['1', '2', '3', '4', '5', '6'] }, false],
])('a Discord config with %j is accepted: %s', (change, isAccepted) => {
  expect(accepts(discord, { ...config, ...change })).toBe(isAccepted);
});

describe('the Discord probe', () => {
  test('reads the webhook without posting', () => {
    expect(discord.probe!.build({ webhookUrl: `${webhookUrl}?thread_id=7` })).toMatchObject({
      method: 'GET',
      url: 'https://discord.com/api/v10/webhooks/1234567890123456789/AbC-dEf_123',
    });
  });

  test.each([
    [200, { id: '1', channel_id: '2' }, true],
    [200, '<html>', false],
    [401, { code: 50027 }, false],
    [404, { code: 10015 }, false],
    [429, {}, false],
  ])('turns %i %j into ok: %s', (statusCode, body, ok) => {
    expect(discord.probe!.classify(vendorResponse(statusCode, body), config, 'send')).toMatchObject({ ok });
  });
});
