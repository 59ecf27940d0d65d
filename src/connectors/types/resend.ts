import { z } from 'zod';
import { type ClassifyContext, type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
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

const toMeta = {
  title: 'To',
  description: 'One or more recipients, as a list or separated by commas. They see each other.',
  example: 'team@example.com',
};

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description: 'A Resend API key; "sending access" is enough.',
    example: 're_123456789',
    pattern: /^re_\w+$/,
    hint: 'Must be a Resend key, which begins with "re_". For a key that begins with "SG." use the type email.',
  }),
  from: mailboxField({
    title: 'From',
    description: 'The sender: an address of a domain that is verified in Resend.',
    example: 'Payments <payments@example.com>',
  }),
  to: z
    .union([
      mailboxListField(toMeta, MAX_RECIPIENTS),
      z
        .string()
        .max(MAX_LIST_LENGTH, `Must have at most ${MAX_LIST_LENGTH} characters.`)
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

/** By `name` in the body: the status alone cannot tell these apart. https://resend.com/docs/api-reference/errors */
const ERROR_NAMES: Readonly<Record<string, Outcome>> = {
  concurrent_idempotent_requests: retry('Resend is still working on the first try of this mail.'),
  invalid_idempotent_request: {
    kind: 'drop',
    reason: 'Resend already took this mail with other content or recipients and does not take it again.',
  },
  daily_quota_exceeded: retry(
    'The daily quota of your Resend plan is used up. Raise the plan, or wait for tomorrow.',
    DAILY_QUOTA_RETRY_SECONDS,
  ),
  monthly_quota_exceeded: retry(
    'The monthly quota of your Resend plan is used up. Raise the plan.',
    MONTHLY_QUOTA_RETRY_SECONDS,
  ),
  invalid_from_address: { kind: 'pause', reason: 'Resend does not accept the sender address. Correct "from".' },
};

export const resend = defineConnector({
  type: 'resend',
  title: 'Resend',
  category: 'Communication',
  description: 'Sends a mail for every event through your Resend account.',
  documentationUrl: 'https://resend.com/docs/dashboard/api-keys/introduction',
  config,
  carries: () => true,
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
        // Tag values take no dots.
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
      // A key that may only send is refused everywhere else, with this name.
      const isListed = response.statusCode === 200 && Array.isArray(valueAt(parseJson(response.body), 'data'));
      if (isListed || name === 'restricted_api_key') {
        return {
          ok: true,
          message: 'Resend knows the API key. Whether the sender is verified shows with the first mail.',
        };
      }
      return { ok: false, message: `Resend did not accept the API key (HTTP ${response.statusCode}).` };
    },
  },
});

function classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const json = parseJson(response.body);
  const name = valueAt(json, 'name');
  if (response.statusCode === 200) {
    return typeof valueAt(json, 'id') === 'string'
      ? { kind: 'delivered' }
      : retry('Resend answered without confirming the mail.');
  }
  if (typeof name === 'string' && Object.hasOwn(ERROR_NAMES, name)) {
    const outcome = ERROR_NAMES[name]!;
    const seconds = outcome.kind === 'retry' ? retryAfterSeconds(response, context.now) : undefined;
    // A short `retry-after` is about the rate and not about a quota: the longer of the two waits counts.
    return outcome.kind === 'retry' && seconds !== undefined
      ? retry(outcome.reason, Math.max(seconds, outcome.afterSeconds ?? 0))
      : outcome;
  }
  const detail = vendorText(valueAt(json, 'message'), [context.config.apiKey]);
  return classifyByStatus(response, { expected: [], detail, now: context.now });
}
