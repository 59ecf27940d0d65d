import { z } from 'zod';
import { type ClassifyContext, type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { choiceField, secretField } from '../fields.ts';
import { classifyByStatus, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { mailboxField, mailboxListField, parseMailbox, renderMail } from '../shared/mail.ts';
import { describeEvent } from '../shared/message.ts';

const MAX_RECIPIENTS = 100;
const CREDITS_RETRY_SECONDS = 4 * 60 * 60;

const HOSTS = { global: 'https://api.sendgrid.com', eu: 'https://api.eu.sendgrid.com' } as const;

const config = z.strictObject({
  apiKey: secretField({
    title: 'API key',
    description: 'A SendGrid API key that may send mail ("Mail Send").',
    example: 'SG.xxxxxxxxxxxxxxxxxxxxxx.yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy',
    pattern: /^SG\.[\w.-]+$/,
    hint: 'Must be a SendGrid key, which begins with "SG.". For a key that begins with "re_" use the type resend.',
  }),
  from: mailboxField({
    title: 'From',
    description: 'The sender: an address or domain that is verified in SendGrid.',
    example: 'Payments <payments@example.com>',
  }),
  to: mailboxListField(
    { title: 'To', description: 'Each recipient gets a mail of their own.', example: 'team@example.com' },
    MAX_RECIPIENTS,
  ),
  region: choiceField(['global', 'eu'], {
    title: 'Region',
    description: '"eu" for subusers whose data is kept in the EU. Default "global".',
    example: 'global',
    decidesAddress: true,
  }).optional(),
});
type Config = z.infer<typeof config>;

export const email = defineConnector({
  type: 'email',
  title: 'Email (SendGrid)',
  category: 'Communication',
  description: 'Sends a mail for every event through your SendGrid account.',
  documentationUrl: 'https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys',
  config,
  carries: () => true,
  build: ([event], { apiKey, from, to, region = 'global' }, context) => {
    const mail = renderMail(describeEvent(event, context));
    return {
      method: 'POST',
      url: `${HOSTS[region]}/v3/mail/send`,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        // One each: recipients in one personalization see each other's addresses.
        personalizations: to.map((recipient) => ({ to: [parseMailbox(recipient)] })),
        from: parseMailbox(from),
        subject: mail.subject,
        // SendGrid refuses the parts in the other order.
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
        return { ok: false, message: `SendGrid did not accept the API key (HTTP ${response.statusCode}).` };
      }
      return scopes.includes('mail.send')
        ? {
            ok: true,
            message: 'The SendGrid key may send mail. Whether the sender is verified shows with the first mail.',
          }
        : { ok: false, message: 'The SendGrid key may not send mail: give it "Mail Send".' };
    },
  },
});

/** https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/responses */
function classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const { statusCode, headers } = response;
  const error = valueAt(parseJson(response.body), 'errors', 0);
  const detail = vendorText(valueAt(error, 'message'), [context.config.apiKey]);
  if (statusCode === 200) {
    return { kind: 'drop', reason: 'SendGrid only checked the mail (sandbox mode) and sent nothing.' };
  }
  if (statusCode === 429) {
    const resetAtSeconds = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
    const waitSeconds = resetAtSeconds - context.now.getTime() / 1000;
    return Number.isNaN(waitSeconds)
      ? classifyByStatus(response, { now: context.now })
      : retry('SendGrid asked to slow down (HTTP 429).', waitSeconds);
  }
  // SendGrid answers 401 to a good key when the plan's mails are used up.
  if (statusCode === 401 && /credits exceeded/i.test(detail)) {
    return retry(
      'The mails of your SendGrid plan are used up. Raise the plan, or wait for its reset.',
      CREDITS_RETRY_SECONDS,
    );
  }
  return classifyByStatus(response, { expected: [202], detail, now: context.now });
}
