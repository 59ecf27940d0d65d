import { describe, expect, test } from 'vitest';
import { discord } from '../../../src/connectors/types/discord.ts';
import { EVENT_KINDS } from '../../../src/events/kinds.ts';
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
const settled = sampleEvent('payment.settled');

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

  test.each(EVENT_KINDS)('sends %s', (kind) => {
    expect(discord.carries(kind, new Set())).toBe(true);
    const body: Body = builtJson(discord, config, sampleEvent(kind));
    for (const { name } of body.embeds[0].fields) expect(name).not.toBe('');
  });

  test('marks a test event', () => {
    const body: Body = builtJson(discord, config, testEvent());
    expect(body.embeds[0].title).toBe('\\[Test\\] Payment settled');
    expect(body.embeds[0].fields[0]?.name).toBe('Test');
  });

  test.each(EVENT_KINDS)('shows any text in %s without mentions, links, or formatting', (kind) => {
    for (const text of HOSTILE_TEXTS) {
      const context = sampleContext({ projectName: text });
      const body: Body = builtJson(discord, config, hostileEvent(kind, text), context);
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
  const outcomeOf = (statusCode: number, body: string | object, headers = {}) =>
    discord.classify(vendorResponse(statusCode, body, headers), classifyContext(config, settled));

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
    [400, { code: 50083, message: 'Thread is archived' }, 'disable'],
    [400, {}, 'drop'],
    [401, { code: 50027, message: 'Invalid Webhook Token' }, 'pause'],
    [401, {}, 'pause'],
    [403, { code: 40333, message: 'internal network error' }, 'retry'],
    [403, '<html>error code: 1015</html>', 'retry'],
    [403, { code: 50013 }, 'pause'],
    [404, { code: 10015, message: 'Unknown Webhook' }, 'disable'],
    [404, '', 'disable'],
    [429, '', 'retry'],
    [500, { code: 10015 }, 'retry'],
    [502, '<html>', 'retry'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(outcomeOf(statusCode, body).kind).toBe(kind);
  });

  test('waits as long as the body says, or else as long as the header says', () => {
    const headers = { 'retry-after': '65' };
    expect(outcomeOf(429, { retry_after: 64.57, global: false }, headers)).toMatchObject({ afterSeconds: 65 });
    expect(outcomeOf(429, { retry_after: 0.3 })).toMatchObject({ afterSeconds: 1 });
    expect(outcomeOf(429, '<html>', { 'retry-after': '3600' })).toMatchObject({ afterSeconds: 3600 });
  });

  test('waits longer after the firewall blocks a request', () => {
    expect(outcomeOf(403, '<html>')).toMatchObject({ kind: 'retry', afterSeconds: 600 });
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
