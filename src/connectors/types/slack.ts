import { z } from 'zod';
import { defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { vendorUrlField } from '../fields.ts';
import { classifyByStatus, failedProbe, retry, vendorText } from '../shared/classify.ts';
import { describeEvent, type Fact, type Message, utcTime } from '../shared/message.ts';
import { escapeWithin } from '../shared/plain-text.ts';

const MAX_HEADER_LENGTH = 150;
const MAX_FIELD_LENGTH = 2000;
const FACTS_PER_SECTION = 5;

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'The URL of an incoming webhook in your Slack app. Anyone with this URL can post to the channel.',
    secret: true,
    example: 'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    host: /^hooks\.slack(-gov)?\.com$/,
    path: /^\/services\/T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]+$/,
    hint: "Must be an incoming webhook URL: https://hooks.slack.com/services/T…/B…/…. Workflow Builder URLs (/triggers/, /workflows/) don't work.",
  }),
});

/**
 * Slack's plain-text error codes and their outcomes. They are failures even if the status is 200.
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
 */
const ERROR_WORDS: Readonly<Record<string, Outcome>> = {
  ...sameFor(['invalid_payload', 'invalid_blocks', 'no_text', 'msg_blocks_too_long', 'too_many_attachments'], {
    kind: 'drop',
    reason: 'Slack rejected the message.',
  }),
  ...sameFor(['invalid_token', 'token_revoked'], {
    kind: 'pause',
    reason: 'Slack no longer accepts this webhook URL. Create a new incoming webhook and save its URL.',
  }),
  ...sameFor(['action_prohibited', 'posting_to_general_channel_denied'], {
    kind: 'pause',
    reason: "A Slack admin doesn't allow posting to this channel. Ask them to allow it, or use another channel.",
  }),
  channel_is_archived: {
    kind: 'pause',
    reason: 'The Slack channel is archived. Unarchive it, or save an incoming webhook for another channel.',
  },
  no_active_hooks: {
    kind: 'pause',
    reason: 'The Slack webhook is disabled. Enable it in Slack, or save a new incoming webhook.',
  },
  team_disabled: {
    kind: 'pause',
    reason: "The Slack workspace isn't active. Reactivate it, or save an incoming webhook in another workspace.",
  },
  ...sameFor(['channel_not_found', 'user_not_found'], {
    kind: 'disable',
    reason: 'The Slack channel was deleted. Create an incoming webhook for another channel.',
  }),
  ...sameFor(['no_service', 'no_service_id', 'no_team'], {
    kind: 'disable',
    reason: 'The Slack webhook or its workspace was removed. Create a new incoming webhook.',
  }),
  rollup_error: { kind: 'retry', reason: "Slack couldn't accept the message right now." },
};

export const slack = defineConnector({
  type: 'slack',
  title: 'Slack',
  category: 'Communication',
  description: 'Posts every event to a Slack channel.',
  documentationUrl: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
  config,
  supportsEvent: () => true,
  vendorLimit: {
    count: 1,
    perSeconds: 1,
    documentationUrl: 'https://docs.slack.dev/apis/web-api/rate-limits#incoming-webhooks',
  },
  build: ([event], { webhookUrl }, context) => ({
    method: 'POST',
    url: webhookUrl,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(renderMessage(describeEvent(event, context))),
  }),
  classify: (response, { now }) => classify(response, now),
  probe: {
    // Slack checks the URL before the body, so invalid JSON tests the URL without posting anything.
    build: ({ webhookUrl }) => ({
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
      body: '{',
    }),
    classify: (response) => {
      if (response.statusCode === 400 && response.body.trim() === 'invalid_payload') {
        return { ok: true, message: 'The Slack webhook works. Nothing was posted.' };
      }
      return failedProbe('Slack', classify(response));
    },
  },
});

function classify(response: ConnectorResponse, now?: Date): Outcome {
  const word = response.body.trim();
  if (Object.hasOwn(ERROR_WORDS, word)) return ERROR_WORDS[word]!;
  if (response.statusCode < 300 && !(response.statusCode === 200 && word === 'ok')) {
    return retry('Slack responded without confirming the message. A proxy may have sent the response.');
  }
  const detail = /^[a-z_]{1,40}$/.test(word) ? vendorText(word) : undefined;
  return classifyByStatus('Slack', response, { detail, now });
}

/**
 * Labels and values go in two columns. Slack has no way to escape its `*bold*` markup, so data goes into `plain_text`
 * objects, which have no markup, mentions, or links.
 */
function renderMessage({ title, facts, url, transactionUrl, eventId, at }: Message) {
  const context = [
    escapeSlack(eventId),
    `<!date^${Math.floor(Date.parse(at) / 1000)}^{date_short_pretty} {time_secs}|${utcTime(at)}>`,
    ...(transactionUrl ? [link(transactionUrl, 'View the transaction')] : []),
    ...(url ? [link(url, 'Open in the console')] : []),
  ];
  return {
    // Shown in notifications and by clients that can't show blocks.
    text: escapeSlack(title),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plainText(title, MAX_HEADER_LENGTH) },
      ...inGroups(facts).map((group) => ({
        type: 'section',
        fields: group.flatMap(({ label, value }) => [
          { type: 'mrkdwn', text: `*${escapeSlack(label)}*`, verbatim: true },
          plainText(value, MAX_FIELD_LENGTH),
        ]),
      })),
      // Not a button: Slack sends clicks on buttons to the app and shows a warning if the app doesn't respond.
      { type: 'context', elements: [{ type: 'mrkdwn', text: context.join('  ·  '), verbatim: true }] },
    ],
  };
}

function link(url: string, text: string): string {
  return `<${escapeSlack(url).replaceAll('|', '%7C')}|${text}>`;
}

function plainText(text: string, maxLength: number) {
  return { type: 'plain_text', text: escapeWithin(text, escapeSlack, maxLength), emoji: false };
}

/** Escapes the three characters that Slack decodes. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function inGroups(facts: readonly Fact[]): Fact[][] {
  const groups: Fact[][] = [];
  for (let start = 0; start < facts.length; start += FACTS_PER_SECTION) {
    groups.push(facts.slice(start, start + FACTS_PER_SECTION));
  }
  return groups;
}

function sameFor(words: readonly string[], outcome: Outcome): Record<string, Outcome> {
  return Object.fromEntries(words.map((word) => [word, outcome]));
}
