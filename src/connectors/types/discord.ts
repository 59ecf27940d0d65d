import { z } from 'zod';
import { type ConnectorRequest, type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { vendorUrlField } from '../fields.ts';
import {
  classifyByStatus,
  failedProbe,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { describeEvent, type Message, type Tone } from '../shared/message.ts';
import { escapeWithin } from '../shared/plain-text.ts';

const MAX_TITLE_LENGTH = 256;
const MAX_DESCRIPTION_LENGTH = 4096;
const MAX_FIELD_VALUE_LENGTH = 1024;
/** Up to three fields share a line. A wallet's address is longer and gets its own line. */
const MAX_INLINE_LENGTH = 40;
const BLOCKED_RETRY_SECONDS = 10 * 60;

const WEBHOOK_PATH = /^\/api\/(?:v\d+\/)?webhooks\/(?<id>\d+)\/(?<token>[\w-]+)\/?$/;

const TONE_COLORS: Readonly<Record<Tone, number>> = {
  info: 0x2f6fde,
  success: 0x2ecc71,
  warning: 0xf1a72c,
  danger: 0xe74c3c,
};

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'The URL of a channel webhook. Append `?thread_id=<id>` to post to a thread.',
    secret: true,
    example: 'https://discord.com/api/webhooks/1234567890/AbCdEf',
    host: /^(?:(?:ptb|canary)\.)?discord\.com$|^discordapp\.com$/,
    path: WEBHOOK_PATH,
    query: (parameters) => /^\d*$/.test(parameters.get('thread_id') ?? ''),
    hint: 'Must be a channel webhook URL: https://discord.com/api/webhooks/<id>/<token>, without /slack or /github.',
  }),
});
type Config = z.infer<typeof config>;

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const ERROR_CODES: Readonly<Record<number, Outcome>> = {
  10003: { kind: 'disable', reason: 'The Discord channel or thread no longer exists.' },
  10015: { kind: 'disable', reason: 'The Discord webhook was deleted. Create a new one and save its URL.' },
  40333: retry('Discord is blocking requests from this service.', BLOCKED_RETRY_SECONDS),
  50027: { kind: 'pause', reason: 'Discord rejected the token in the webhook URL. Copy the URL again.' },
  50083: { kind: 'disable', reason: 'The Discord thread is archived or locked.' },
  200000: { kind: 'drop', reason: "The Discord server's moderation settings blocked the message." },
  220001: { kind: 'pause', reason: 'This is a forum channel. Append ?thread_id=<id> to the webhook URL.' },
  240000: { kind: 'drop', reason: "Discord's link filter blocked the message." },
};

export const discord = defineConnector({
  type: 'discord',
  title: 'Discord',
  category: 'Communication',
  description: 'Posts every event to a Discord channel as an embed.',
  documentationUrl: 'https://support.discord.com/hc/en-us/articles/228383668-Intro-to-Webhooks',
  config,
  carries: () => true,
  // Discord sets limits for each webhook in its response headers. This is the usual limit.
  vendorLimit: {
    count: 5,
    perSeconds: 2,
    documentationUrl: 'https://discord.com/developers/docs/topics/rate-limits',
  },
  build: ([event], settings, context) => ({
    ...webhookRequest(settings, 'POST', true),
    body: JSON.stringify(renderMessage(describeEvent(event, context))),
  }),
  classify: (response, { now }) => classify(response, now),
  probe: {
    build: (settings) => webhookRequest(settings, 'GET', false),
    classify: (response) => {
      if (response.statusCode === 200 && typeof valueAt(parseJson(response.body), 'id') === 'string') {
        return { ok: true, message: 'The Discord webhook works. Nothing was posted.' };
      }
      return failedProbe('Discord', classify(response));
    },
  },
});

/**
 * Rebuilds the URL with an API version: without one, Discord uses the deprecated version 6. `wait=true` makes Discord
 * respond only after it has stored the message. Otherwise, lost and stored messages get the same response.
 */
function webhookRequest({ webhookUrl }: Config, method: 'GET' | 'POST', execute: boolean): ConnectorRequest {
  const pasted = new URL(webhookUrl);
  const { id, token } = WEBHOOK_PATH.exec(pasted.pathname)?.groups ?? {};
  const url = new URL(`https://discord.com/api/v10/webhooks/${id}/${token}`);
  const threadId = pasted.searchParams.get('thread_id');
  if (execute) url.searchParams.set('wait', 'true');
  if (execute && threadId) url.searchParams.set('thread_id', threadId);
  return {
    method,
    url: url.href,
    headers: {
      ...(execute && { 'content-type': 'application/json' }),
      // Discord may block clients whose user agent has a different format.
      'user-agent': 'DiscordBot (https://tollgate.example, 1.0)',
    },
  };
}

function classify(response: ConnectorResponse, now?: Date): Outcome {
  const { statusCode } = response;
  const json = parseJson(response.body);
  const code = valueAt(json, 'code');
  if (statusCode === 200 && typeof valueAt(json, 'id') === 'string') return { kind: 'delivered' };
  if (statusCode === 204) return { kind: 'delivered', note: "Discord didn't confirm that it stored the message." };
  if (statusCode < 300) return retry('Discord responded without confirming the message.');
  if (statusCode === 429) {
    const seconds = valueAt(json, 'retry_after');
    const afterSeconds = typeof seconds === 'number' ? seconds : retryAfterSeconds(response, now);
    return retry('Discord is rate limiting requests (HTTP 429).', afterSeconds);
  }
  if (typeof code === 'number' && statusCode < 500 && Object.hasOwn(ERROR_CODES, code)) return ERROR_CODES[code]!;
  if (statusCode === 403 && json === undefined) {
    return retry('Discord is blocking requests from this service.', BLOCKED_RETRY_SECONDS);
  }
  if (code === 50035) return { kind: 'drop', reason: reason(`Discord rejected the message${rejectedField(json)}.`) };
  const detail = typeof code === 'number' ? `code ${vendorText(code)}` : undefined;
  return classifyByStatus('Discord', response, { detail, now });
}

/** Discord reports the rejected field as a tree, such as `{"errors":{"embeds":{"0":{"title":{"_errors":[…]}}}}}`. */
function rejectedField(json: unknown): string {
  const path: string[] = [];
  let node = valueAt(json, 'errors');
  while (typeof node === 'object' && node !== null && path.length < 6) {
    const key = Object.keys(node)[0];
    if (!key || !/^[A-Za-z0-9]\w{0,30}$/.test(key)) break;
    path.push(key);
    node = valueAt(node, key);
  }
  return path.length > 0 ? ` (${path.join('.')})` : '';
}

function renderMessage({ heading, detail, tone, facts, url, transactionUrl, eventId, at }: Message) {
  const links = [
    ...(transactionUrl ? [`[View the transaction](${transactionUrl})`] : []),
    // The title is also a link, but few readers notice it.
    ...(url ? [`[Open in the console](<${url}>)`] : []),
  ];
  return {
    username: 'Payments',
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: escapeWithin(heading, escapeMarkdown, MAX_TITLE_LENGTH),
        ...(url && { url }),
        ...(detail && { description: markdown(detail, MAX_DESCRIPTION_LENGTH) }),
        color: TONE_COLORS[tone],
        fields: [
          ...facts.map(({ label, value }) => ({
            name: label,
            value: markdown(value, MAX_FIELD_VALUE_LENGTH),
            inline: value.length <= MAX_INLINE_LENGTH,
          })),
          ...(links.length > 0 ? [{ name: 'Links', value: links.join('  ·  '), inline: false }] : []),
        ],
        footer: { text: eventId },
        timestamp: at,
      },
    ],
  };
}

/** Escapes Markdown so that data shows up unchanged, without formatting, links, or lists. */
function markdown(text: string, maxLength: number): string {
  return escapeWithin(text, escapeMarkdown, maxLength)
    .replace(/^([-+])(?=\s)/, '\\$1')
    .replace(/^(\d+)\.(?=\s)/, '$1\\.')
    .replaceAll('://', '\\://');
}

function escapeMarkdown(character: string): string {
  return /[\\*_~`|>#[\]()<@]/.test(character) ? `\\${character}` : character;
}
