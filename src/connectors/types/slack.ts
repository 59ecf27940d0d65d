import { z } from 'zod';
import { type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
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
    description: 'The URL of an incoming webhook of your Slack app. Whoever knows it can post to the channel.',
    secret: true,
    example: 'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    host: /^hooks\.slack(-gov)?\.com$/,
    path: /^\/services\/T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]+$/,
    hint: 'Must be an incoming webhook, https://hooks.slack.com/services/T…/B…/…; Workflow Builder URLs (/triggers/, /workflows/) take other messages.',
  }),
});

/**
 * The words Slack answers with as plain text, and what each means. A status of 200 with one of them is a failure too.
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
 */
const ERROR_WORDS: Readonly<Record<string, Outcome>> = {
  ...sameFor(['invalid_payload', 'invalid_blocks', 'no_text', 'msg_blocks_too_long', 'too_many_attachments'], {
    kind: 'drop',
    reason: 'Slack did not accept the message.',
  }),
  ...sameFor(['invalid_token', 'token_revoked'], {
    kind: 'pause',
    reason: 'Slack no longer accepts this webhook URL. Create a new incoming webhook and replace it.',
  }),
  ...sameFor(['action_prohibited', 'posting_to_general_channel_denied'], {
    kind: 'pause',
    reason: 'A Slack administrator does not allow posting to this channel. Ask them, or use another webhook.',
  }),
  ...sameFor(['channel_not_found', 'channel_is_archived', 'user_not_found'], {
    kind: 'disable',
    reason: 'The Slack channel is gone or archived. Create an incoming webhook for another channel.',
  }),
  ...sameFor(['no_service', 'no_service_id', 'no_active_hooks', 'no_team', 'team_disabled'], {
    kind: 'disable',
    reason: 'The Slack webhook or its workspace was removed or disabled. Create a new incoming webhook.',
  }),
  rollup_error: { kind: 'retry', reason: 'Slack could not take the message just now.' },
};

export const slack = defineConnector({
  type: 'slack',
  title: 'Slack',
  category: 'Communication',
  description: 'Posts a message for every event to one Slack channel.',
  documentationUrl: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
  config,
  carries: () => true,
  build: ([event], { webhookUrl }, context) => ({
    method: 'POST',
    url: webhookUrl,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(renderMessage(describeEvent(event, context))),
  }),
  classify: (response, { now }) => classify(response, now),
  probe: {
    // Slack checks the URL before the body, so a body that is no JSON tells whether the URL works and posts nothing.
    build: ({ webhookUrl }) => ({
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
      body: '{',
    }),
    classify: (response) => {
      if (response.statusCode === 400 && response.body.trim() === 'invalid_payload') {
        return { ok: true, message: 'Slack knows this webhook. Nothing was posted.' };
      }
      return failedProbe(classify(response));
    },
  },
});

function classify(response: ConnectorResponse, now?: Date): Outcome {
  const word = response.body.trim();
  if (Object.hasOwn(ERROR_WORDS, word)) return ERROR_WORDS[word]!;
  if (response.statusCode < 300 && !(response.statusCode === 200 && word === 'ok')) {
    return retry('Slack answered without confirming the message; something in between may have answered for it.');
  }
  const detail = /^[a-z_]{1,40}$/.test(word) ? vendorText(word) : undefined;
  return classifyByStatus(response, { detail, now });
}

/**
 * Labels and values stand side by side in two columns. Slack has no escape for its `*bold*` marks, so whatever is data
 * goes into `plain_text` objects, which know no marks, no mentions and no links.
 */
function renderMessage({ title, facts, url, eventId, at }: Message) {
  const context = [
    escapeSlack(eventId),
    `<!date^${Math.floor(Date.parse(at) / 1000)}^{date_short_pretty} {time_secs}|${utcTime(at)}>`,
    ...(url ? [`<${escapeSlack(url).replaceAll('|', '%7C')}|Open in the console>`] : []),
  ];
  return {
    // Shown in notifications and by clients that cannot show blocks.
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
      // A link and not a button: a button's click is sent to the app, which has nobody to answer it and shows a warning.
      { type: 'context', elements: [{ type: 'mrkdwn', text: context.join('  ·  '), verbatim: true }] },
    ],
  };
}

function plainText(text: string, maxLength: number) {
  return { type: 'plain_text', text: escapeWithin(text, escapeSlack, maxLength), emoji: false };
}

/** The three characters Slack wants escaped, and no others: it decodes nothing else. */
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
