import { z } from 'zod';
import { type ClassifyContext, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { fieldMeta, secretField } from '../fields.ts';
import { classifyByStatus, parseJson, retry, retryAfterSeconds, valueAt, vendorText } from '../shared/classify.ts';
import { derivedId } from '../shared/derived-id.ts';
import {
  mailboxField,
  mailboxListField,
  parseMailbox,
  renderMail,
  splitMailboxes,
  UNWRITABLE,
} from '../shared/mail.ts';
import { describeEvent } from '../shared/message.ts';

const MAX_RECIPIENTS = 50;
const MAX_LIST_LENGTH = 16_384;
const DAILY_QUOTA_RETRY_SECONDS = 4 * 60 * 60;
const MONTHLY_QUOTA_RETRY_SECONDS = 24 * 60 * 60;
const MISSING = "Resend's API isn't at its usual address (HTTP 404). Check the connector's settings.";

const toMeta = {
  title: 'To',
  description: "One or more recipients, as a list or separated by commas. They can see each other's addresses.",
  example: 'team@example.com',
};

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description: 'A Resend API key with at least "Sending access".',
    example: 're_123456789',
    pattern: /^re_\w+$/,
    hint: 'Must be a Resend key, which starts with "re_". For a key that starts with "SG.", use the Email (SendGrid) connector.',
  }),
  from: mailboxField({
    title: 'From',
    description: 'The sender. The address’s domain must be verified in Resend.',
    example: 'Payments <payments@example.com>',
  }),
  to: z
    .union([
      mailboxListField(toMeta, MAX_RECIPIENTS),
      z
        .string()
        .max(MAX_LIST_LENGTH, `Must be at most ${MAX_LIST_LENGTH} characters.`)
        .refine((list) => {
          const mailboxes = splitMailboxes(list);
          return (
            !UNWRITABLE.test(list) &&
            mailboxes.length > 0 &&
            mailboxes.length <= MAX_RECIPIENTS &&
            mailboxes.every(parseMailbox)
          );
        }, `Must be 1 to ${MAX_RECIPIENTS} addresses separated by commas.`),
    ])
    .register(fieldMeta, toMeta),
});
type Config = z.infer<typeof config>;

/** Outcomes by the `name` in the body, because the status alone isn't enough. https://resend.com/docs/api-reference/errors */
const ERROR_NAMES: Readonly<Record<string, Outcome>> = {
  concurrent_idempotent_requests: retry('Resend is still processing an earlier attempt to send this email.'),
  invalid_idempotent_request: {
    kind: 'drop',
    reason: "Resend already accepted this email with different content or recipients, and won't accept it again.",
  },
  daily_quota_exceeded: retry(
    'Your Resend plan has reached its daily quota. Upgrade the plan or wait until tomorrow.',
    DAILY_QUOTA_RETRY_SECONDS,
  ),
  monthly_quota_exceeded: retry(
    'Your Resend plan has reached its monthly quota. Upgrade the plan.',
    MONTHLY_QUOTA_RETRY_SECONDS,
  ),
  invalid_from_address: { kind: 'pause', reason: 'Resend rejected the sender address. Change "From".' },
};

/** Errors that every email would cause. They are recognized by their messages, because their names are also used for
 * other errors. */
const PAUSING: readonly [RegExp, string][] = [
  [/api key is invalid/i, 'Resend rejected the API key. Create a new one in Resend, and save it.'],
  [
    /domain is not verified/i,
    'Resend hasn\'t verified the domain of the sender. Verify it in Resend, or change "From".',
  ],
  [
    /only send testing emails/i,
    'Resend allows only test emails from this sender. In "From", use an address on a verified domain.',
  ],
];

export const resend = defineConnector({
  type: 'resend',
  title: 'Resend',
  category: 'Communication',
  description: 'Sends an email for every event through your Resend account.',
  documentationUrl: 'https://resend.com/docs/dashboard/api-keys/introduction',
  config,
  supportsEvent: () => true,
  // The limit applies to the whole team.
  vendorLimit: {
    count: 5,
    perSeconds: 1,
    documentationUrl: 'https://resend.com/docs/api-reference/rate-limit',
  },
  build: ([event], { apiKey, from, to }, context) => {
    const mail = renderMail(describeEvent(event, context));
    return {
      method: 'POST',
      url: 'https://api.resend.com/emails',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': derivedId(event.id, context.connectorId),
      },
      body: JSON.stringify({
        from,
        to: typeof to === 'string' ? splitMailboxes(to) : to,
        subject: mail.subject,
        text: mail.text,
        html: mail.html,
        // Resend doesn't allow dots in tag values.
        tags: [{ name: 'event', value: event.type.replaceAll('.', '_') }],
      }),
    };
  },
  classify,
  probe: {
    build: ({ apiKey }) => ({
      method: 'GET',
      url: 'https://api.resend.com/domains',
      headers: { authorization: `Bearer ${apiKey}` },
    }),
    classify: (response) => {
      const name = valueAt(parseJson(response.body), 'name');
      // With a sending-only key, every call that doesn't send email returns `restricted_api_key`.
      const isListed = response.statusCode === 200 && Array.isArray(valueAt(parseJson(response.body), 'data'));
      if (isListed || name === 'restricted_api_key') {
        return {
          ok: true,
          message: 'The API key is valid. Resend checks the sender when the first email goes out.',
        };
      }
      return { ok: false, message: `Resend rejected the API key (HTTP ${response.statusCode}).` };
    },
  },
});

function classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const json = parseJson(response.body);
  const name = valueAt(json, 'name');
  if (response.statusCode === 200) {
    return typeof valueAt(json, 'id') === 'string'
      ? { kind: 'delivered' }
      : retry('Resend responded without confirming the email.');
  }
  if (typeof name === 'string' && Object.hasOwn(ERROR_NAMES, name)) {
    const outcome = ERROR_NAMES[name]!;
    const seconds = outcome.kind === 'retry' ? retryAfterSeconds(response, context.now) : undefined;
    // A short `retry-after` refers to the rate limit, not the quota, so the longer wait wins.
    return outcome.kind === 'retry' && seconds !== undefined
      ? retry(outcome.reason, Math.max(seconds, outcome.afterSeconds ?? 0))
      : outcome;
  }
  const detail = vendorText(valueAt(json, 'message'), [context.config.apiKey]);
  const pausing = response.statusCode < 500 && PAUSING.find(([pattern]) => pattern.test(detail));
  if (pausing) return { kind: 'pause', reason: pausing[1] };
  return classifyByStatus('Resend', response, { expected: [], detail, missing: MISSING, now: context.now });
}
