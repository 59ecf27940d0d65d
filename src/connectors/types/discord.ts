import { z } from 'zod';
import { defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { fieldMeta, textField, vendorUrlField } from '../fields.ts';
import { blocked, refusedByFirewall } from '../shared/blocked.ts';
import {
  classifyByStatus,
  failedProbe,
  looksLikeJson,
  parseJson,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { describeEvent, type Message, type Tone } from '../shared/message.ts';
import { escapeWithin } from '../shared/plain-text.ts';
import { discordError, rejectedForm } from './discord-error.ts';

const MAX_TITLE_LENGTH = 256;
const MAX_DESCRIPTION_LENGTH = 4096;
const MAX_FIELD_VALUE_LENGTH = 1024;
/** Up to three fields share a line. A wallet's address is longer and gets its own line. */
const MAX_INLINE_LENGTH = 40;

const WEBHOOK_PATH = /^\/api\/(?:v\d+\/)?webhooks\/(?<id>\d+)\/(?<token>[\w-]+)\/?$/;

const TONE_COLORS: Readonly<Record<Tone, number>> = {
  info: 0x2f6fde,
  success: 0x2ecc71,
  warning: 0xf1a72c,
  danger: 0xe74c3c,
};

const SNOWFLAKE = /^\d{1,20}$/;
const MAX_THREAD_NAME_LENGTH = 100;
const MAX_TAGS = 5;

const fields = z.strictObject({
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
  threadId: textField({
    title: 'Thread ID',
    description: "The ID of a thread, or of a forum channel's post, to post to. Replaces thread_id in the URL.",
    example: '1234567890123456789',
    pattern: SNOWFLAKE,
    hint: 'Must be an ID such as 1234567890123456789.',
  }).optional(),
  threadName: textField({
    title: 'Post name',
    description:
      'For a forum or media channel: creates a post with this name for every event, unless there is a thread ID.',
    example: 'Payment',
    maxLength: MAX_THREAD_NAME_LENGTH,
  }).optional(),
  appliedTags: z
    .array(z.string().regex(SNOWFLAKE, 'Must be an ID such as 1234567890123456789.'))
    .min(1, 'Add at least one tag.')
    .max(MAX_TAGS, `Add at most ${MAX_TAGS} tags.`)
    .register(fieldMeta, {
      title: 'Tags',
      description: 'The IDs of the tags for the posts that the connector creates. Some forum channels require a tag.',
      example: '1234567890123456789',
    })
    .optional(),
});

const config = fields.superRefine(({ threadName, appliedTags }, context) => {
  if (appliedTags === undefined || threadName !== undefined) return;
  const message = 'Requires `threadName`, because tags are set when a post is created.';
  context.addIssue({ code: 'custom', path: ['appliedTags'], message });
});
type Config = z.infer<typeof config>;

export const discord = defineConnector({
  type: 'discord',
  title: 'Discord',
  category: 'Communication',
  description: 'Posts every event to a Discord channel as an embed.',
  documentationUrl: 'https://support.discord.com/hc/en-us/articles/228383668-Intro-to-Webhooks',
  config,
  supportsEvent: () => true,
  // Discord sets limits for each webhook in its response headers. This is the usual limit.
  vendorLimit: {
    count: 5,
    perSeconds: 2,
    documentationUrl: 'https://discord.com/developers/docs/topics/rate-limits',
  },
  build: ([event], settings, context) => ({
    ...webhookRequest(settings, 'POST', true),
    body: JSON.stringify({
      ...renderMessage(describeEvent(event, context)),
      ...(!hasThread(settings) && newPost(settings)),
    }),
  }),
  classify: (response, { config: settings, now }) => classify(response, settings, now),
  probe: {
    build: (settings) => webhookRequest(settings, 'GET', false),
    classify: (response, settings) => {
      if (response.statusCode === 200 && typeof valueAt(parseJson(response.body), 'id') === 'string') {
        return { ok: true, message: 'The Discord webhook works. Nothing was posted.' };
      }
      return failedProbe('Discord', classify(response, settings));
    },
  },
});

/**
 * Rebuilds the URL with an API version: without one, Discord uses the deprecated version 6. `wait=true` makes Discord
 * respond only after it has stored the message. Otherwise, lost and stored messages get the same response.
 */
function webhookRequest(
  { webhookUrl, threadId = threadIdIn(webhookUrl) }: Config,
  method: 'GET' | 'POST',
  execute: boolean,
): ConnectorRequest {
  const pasted = new URL(webhookUrl);
  const { id, token } = WEBHOOK_PATH.exec(pasted.pathname)?.groups ?? {};
  const url = new URL(`https://discord.com/api/v10/webhooks/${id}/${token}`);
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

/** Whether the connector posts to an existing thread. */
const hasThread = ({ webhookUrl, threadId }: Config) => Boolean(threadId ?? threadIdIn(webhookUrl));

/** Discord accepts tags only for a post that it creates. */
function newPost({ threadName, appliedTags }: Config) {
  return { ...(threadName && { thread_name: threadName }), ...(appliedTags && { applied_tags: appliedTags }) };
}

function threadIdIn(webhookUrl: string): string | undefined {
  return (URL.canParse(webhookUrl) && new URL(webhookUrl).searchParams.get('thread_id')) || undefined;
}

function classify(response: ConnectorResponse, settings: Config, now?: Date): Outcome {
  const { statusCode } = response;
  const json = parseJson(response.body);
  const code = valueAt(json, 'code');
  if (statusCode === 200 && typeof valueAt(json, 'id') === 'string') return { kind: 'delivered' };
  if (statusCode === 204) return { kind: 'delivered', note: "Discord didn't confirm that it stored the message." };
  if (statusCode < 300) return retry('Discord responded without confirming the message.');
  if (isBlocked(response, json)) return blocked('Discord', response, now);
  if (isFromFirewall(response, json)) return refusedByFirewall('Discord', response);
  if (statusCode === 429) return rateLimited(response, json, now);
  const known = statusCode < 500 ? discordError(code, hasThread(settings)) : undefined;
  if (known) return known;
  if (code === 50035) return rejectedForm(json);
  const detail = typeof code === 'number' ? `code ${vendorText(code)}` : undefined;
  return classifyByStatus('Discord', response, { detail, now });
}

/**
 * Discord bans addresses that cause too many errors. Only its own rate limits come with `retry_after`.
 * https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
function isBlocked({ statusCode, body }: ConnectorResponse, json: unknown): boolean {
  const isLimit = valueAt(json, 'code') !== 0 || valueAt(json, 'retry_after') !== undefined;
  return statusCode === 429 && (!looksLikeJson(body) || !isLimit);
}

/** Whether a 403 is from Discord's firewall: it has no JSON, or code 40333. */
function isFromFirewall({ statusCode, body }: ConnectorResponse, json: unknown): boolean {
  return statusCode === 403 && (!looksLikeJson(body) || valueAt(json, 'code') === 40333);
}

/** Webhooks have no authorization header, so Discord's global limit applies to this service's address. */
function rateLimited(response: ConnectorResponse, json: unknown, now?: Date): Outcome {
  const seconds = valueAt(json, 'retry_after');
  const wait = retry(
    'Discord is rate limiting requests (HTTP 429).',
    typeof seconds === 'number' ? seconds : retryAfterSeconds(response, now),
  );
  if (valueAt(json, 'global') !== true || wait.kind !== 'retry' || wait.afterSeconds === undefined) return wait;
  const reason = "Discord is rate limiting all requests from this service's IP address (HTTP 429).";
  return { kind: 'blocked', reason, afterSeconds: wait.afterSeconds };
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
