export type Mail = { from: string; to: string; subject: string; text: string; messageId: string };

const TIMEOUT_MILLISECONDS = 15_000;

/**
 * Sends mail through the operator's SMTP server. The server's address is set by the operator, not by sellers, so it may
 * be private. The library is loaded only if it is used. Each email has its own connection.
 *
 * @param url `smtp://` (with STARTTLS if the server offers it) or `smtps://`, with a user name and password if needed.
 */
export function createSmtpSender(url: string) {
  /** @throws the library's error if the server can't be reached, or rejects the email. */
  return async function sendMail({ messageId, ...mail }: Mail): Promise<void> {
    const { createTransport } = await import('nodemailer');
    const timeouts = {
      connectionTimeout: TIMEOUT_MILLISECONDS,
      greetingTimeout: TIMEOUT_MILLISECONDS,
      socketTimeout: TIMEOUT_MILLISECONDS,
    };
    const transport = createTransport({ url, ...timeouts });
    try {
      // The sender's domain makes the ID globally unique, so that a repeated email can be recognized.
      const domain = /@([^\s>@]+)>?\s*$/.exec(mail.from)?.[1] ?? 'localhost';
      await transport.sendMail({ ...mail, messageId: `<${messageId}@${domain}>` });
    } finally {
      transport.close();
    }
  };
}
