export type Mail = { from: string; to: string; subject: string; text: string; messageId: string };

const TIMEOUT_MILLISECONDS = 15_000;

/**
 * Sends mail through the operator's SMTP server. The server's address comes from the configuration and not from sellers,
 * so it may be private. The library is loaded only if it is used. Each mail has its own connection.
 *
 * @param url `smtp://` (with STARTTLS if the server offers it) or `smtps://`, with a user name and password if needed.
 */
export function createSmtpSender(url: string) {
  /** @throws the library's error if the server can't be reached, or rejects the mail. */
  return async function sendMail({ messageId, ...mail }: Mail): Promise<void> {
    const { createTransport } = await import('nodemailer');
    const timeouts = {
      connectionTimeout: TIMEOUT_MILLISECONDS,
      greetingTimeout: TIMEOUT_MILLISECONDS,
      socketTimeout: TIMEOUT_MILLISECONDS,
    };
    const transport = createTransport({ url, ...timeouts });
    try {
      // The sender's domain makes the ID unique in the world, so that a repeated mail can be recognized.
      const domain = /@([^\s>@]+)>?\s*$/.exec(mail.from)?.[1] ?? 'localhost';
      await transport.sendMail({ ...mail, messageId: `<${messageId}@${domain}>` });
    } finally {
      transport.close();
    }
  };
}
