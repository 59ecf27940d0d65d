import { unescape as percentDecode } from 'node:querystring';
import type { MailConfig } from '../../config/config.ts';
import type { Egress } from '../../egress/egress.ts';
import { createSmtpSender } from '../../egress/smtp.ts';
import { scrub } from '../../secrets/redact.ts';
import type { MailText } from './render.ts';

/** @param id the same for every attempt. @throws Error whose message contains no secrets. */
export type Mailer = (mail: MailText & { id: string; to: string }) => Promise<void>;

const RESEND_URL = 'https://api.resend.com/emails';

/** Creates the function that sends email by SMTP or through Resend. https://resend.com/docs/api-reference/emails/send-email */
export function createMailer({ from, via }: MailConfig, egress: Pick<Egress, 'send'>): Mailer {
  if ('smtpUrl' in via) {
    const send = createSmtpSender(via.smtpUrl);
    const secrets = passwordsIn(via.smtpUrl);
    return ({ id, ...mail }) =>
      send({ from, messageId: id, ...mail }).catch((error: Error) => {
        // Some servers quote the command that they reject, even if it contains the password.
        throw new Error(scrub(error.message, secrets));
      });
  }
  return async ({ id, to, ...mail }) => {
    const { statusCode } = await egress.send({
      method: 'POST',
      url: RESEND_URL,
      headers: {
        authorization: `Bearer ${via.resendApiKey}`,
        'content-type': 'application/json',
        'idempotency-key': id,
      },
      body: JSON.stringify({ from, to: [to], ...mail }),
      timeoutMilliseconds: 15_000,
      maxResponseBytes: 10_000,
    });
    if (statusCode !== 200) throw new Error(`Resend responded with status ${statusCode}.`);
  };
}

/** The password in a URL, as it is written, and as it is sent. */
function passwordsIn(url: string): string[] {
  const { password } = new URL(url);
  return password === '' ? [] : [password, percentDecode(password)];
}
