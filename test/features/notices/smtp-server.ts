import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export type SmtpServer = { url: string; mails: ReceivedMail[]; close(): Promise<void> };
type ReceivedMail = { to: string[]; data: string };

/**
 * Starts an SMTP server (RFC 5321) on a loopback port. It stores the messages that it receives.
 *
 * @param options `rejected`: an address that it rejects. `quotesLogin`: it rejects every password, and quotes it.
 */
export async function startSmtpServer(options: { rejected?: string; quotesLogin?: boolean } = {}): Promise<SmtpServer> {
  const { rejected, quotesLogin } = options;
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();

  function converse(socket: Socket): void {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    let text = '';
    let to: string[] = [];
    let isData = false;
    const say = (line: string) => socket.write(`${line}\r\n`);
    const onCommand = (line: string) => {
      if (quotesLogin && /^EHLO/i.test(line)) return say('250-Hello\r\n250 AUTH PLAIN');
      if (/^AUTH/i.test(line)) {
        const login = Buffer.from(line.slice('AUTH PLAIN '.length), 'base64').toString();
        return say(`535 Rejected: ${line}: ${login}`);
      }
      const address = /<([^>]*)>/.exec(line)?.[1] ?? '';
      if (/^RCPT/i.test(line) && address === rejected) return say('550 No such user');
      if (/^RCPT/i.test(line)) to.push(address);
      if (/^DATA/i.test(line)) {
        isData = true;
        return say('354 Go on');
      }
      if (/^QUIT/i.test(line)) return socket.end('221 Bye\r\n');
      say('250 OK');
    };
    say('220 test ESMTP');
    socket.on('data', (chunk) => {
      text += chunk;
      for (;;) {
        const end = isData ? '\r\n.\r\n' : '\r\n';
        const at = text.indexOf(end);
        if (at < 0) return;
        const part = text.slice(0, at);
        text = text.slice(at + end.length);
        if (!isData) onCommand(part);
        else {
          mails.push({ to, data: part });
          [isData, to] = [false, []];
          say('250 Stored');
        }
      }
    });
  }

  const server = createServer(converse);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
