import { z } from 'zod';
import { type ClassifyContext, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { choiceField, secretField } from '../fields.ts';
import { classifyByStatus, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { mailboxField, mailboxListField, parseMailbox, renderMail } from '../shared/mail.ts';
import { describeEvent } from '../shared/message.ts';

const MAX_RECIPIENTS = 100;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const CREDITS_RETRY_SECONDS = 4 * HOUR;

const MISSING = "SendGrid's API isn't at its usual address (HTTP 404). Check the region.";

const HOSTS = { global: 'https://api.sendgrid.com', eu: 'https://api.eu.sendgrid.com' } as const;

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description: 'A SendGrid API key with the "Mail Send" permission.',
    example: 'SG.xxxxxxxxxxxxxxxxxxxxxx.yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy',
    pattern: /^SG\.[\w.-]+$/,
    hint: 'Must be a SendGrid key, which starts with "SG.". For a key that starts with "re_", use the Resend connector.',
  }),
  from: mailboxField({
    title: 'From',
    description: 'The sender. The address or its domain must be verified in SendGrid.',
    example: 'Payments <payments@example.com>',
  }),
  to: mailboxListField(
    { title: 'To', description: 'Each recipient gets a separate email.', example: 'team@example.com' },
    MAX_RECIPIENTS,
  ),
  region: choiceField(['global', 'eu'], {
    title: 'Region',
    description: 'Choose eu for subusers in the EU region. Default: global.',
    example: 'global',
    decidesAddress: true,
  }).optional(),
});
type Config = z.infer<typeof config>;

export const email = defineConnector({
  type: 'email',
  title: 'Email (SendGrid)',
  category: 'Communication',
  description: 'Sends an email for every event through your SendGrid account.',
  documentationUrl: 'https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys',
  config,
  supportsEvent: () => true,
  // SendGrid has no idempotency key and may send an email even if it responds with an error, so retries are far apart.
  retryDelaysSeconds: [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 24 * HOUR],
  build: ([event], { apiKey, from, to, region = 'global' }, context) => {
    const mail = renderMail(describeEvent(event, context));
    return {
      method: 'POST',
      url: `${HOSTS[region]}/v3/mail/send`,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        // One personalization per recipient, so that recipients don't see each other's addresses.
        personalizations: to.map((recipient) => ({ to: [parseMailbox(recipient)] })),
        from: parseMailbox(from),
        subject: mail.subject,
        // SendGrid requires this order.
        content: [
          { type: 'text/plain', value: mail.text },
          { type: 'text/html', value: mail.html },
        ],
        custom_args: { event_id: event.id },
        tracking_settings: { click_tracking: { enable: false } },
      }),
    };
  },
  classify,
  probe: {
    build: ({ apiKey, region = 'global' }) => ({
      method: 'GET',
      url: `${HOSTS[region]}/v3/scopes`,
      headers: { authorization: `Bearer ${apiKey}` },
    }),
    classify: (response) => {
      const scopes = valueAt(parseJson(response.body), 'scopes');
      if (response.statusCode !== 200 || !Array.isArray(scopes)) {
        return { ok: false, message: `SendGrid rejected the API key (HTTP ${response.statusCode}).` };
      }
      return scopes.includes('mail.send')
        ? {
            ok: true,
            message: 'The API key can send email. SendGrid checks the sender when the first email goes out.',
          }
        : { ok: false, message: 'The API key can\'t send email. Give it the "Mail Send" permission.' };
    },
  },
});

/** https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/responses */
function classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const { statusCode, headers } = response;
  const error = valueAt(parseJson(response.body), 'errors', 0);
  const detail = vendorText(valueAt(error, 'message'), [context.config.apiKey]);
  if (statusCode === 200) {
    return {
      kind: 'pause',
      reason: "SendGrid is in sandbox mode: it validated the email but didn't send it. Turn off sandbox mode.",
    };
  }
  if (statusCode === 429) {
    const resetAtSeconds = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
    const waitSeconds = resetAtSeconds - context.now.getTime() / 1000;
    return Number.isNaN(waitSeconds)
      ? classifyByStatus('SendGrid', response, { now: context.now })
      : retry('SendGrid is rate limiting requests (HTTP 429).', waitSeconds);
  }
  // SendGrid returns 401 for a valid key once the plan's emails are used up.
  if (statusCode === 401 && /credits exceeded/i.test(detail)) {
    return retry(
      'Your SendGrid plan has no emails left. Upgrade the plan, or wait until its quota resets.',
      CREDITS_RETRY_SECONDS,
    );
  }
  return classifyByStatus('SendGrid', response, { expected: [202], detail, missing: MISSING, now: context.now });
}
