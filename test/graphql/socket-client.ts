import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

type SocketMessage = { type: string; id?: string; payload?: unknown };
type SocketClose = { code: number; reason: string };

export type SocketClient = {
  socket: WebSocket;
  /** All messages received so far. */
  received: SocketMessage[];
  /** Sends strings unchanged and anything else as JSON. */
  send(message: unknown): void;
  /** Returns the next matching message that was not returned before. Rejects if the socket closes instead. */
  next(fits?: (message: SocketMessage) => boolean): Promise<SocketMessage>;
  /** Resolves with the close code and reason. */
  closed: Promise<SocketClose>;
  /** Closes the socket and waits until it is closed. */
  close(): Promise<void>;
};

/** Opens a socket at `/graphql` for sending raw protocol messages. */
export async function openSocket(
  url: string,
  options: { protocols?: string[]; headers?: Record<string, string>; path?: string } = {},
): Promise<SocketClient> {
  const { protocols = ['graphql-transport-ws'], headers = {}, path = '/graphql' } = options;
  const socket = new WebSocket(url.replace(/^http/, 'ws') + path, protocols, { headers });
  const received: SocketMessage[] = [];
  const untaken: SocketMessage[] = [];
  const waiting = new Set<() => void>();
  const closed = new Promise<SocketClose>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as SocketMessage;
    received.push(message);
    untaken.push(message);
    for (const check of [...waiting]) check();
  });
  await once(socket, 'open');

  return {
    socket,
    received,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next(fits = () => true) {
      const arrived = new Promise<SocketMessage>((resolve) => {
        const check = () => {
          const index = untaken.findIndex(fits);
          if (index < 0) return;
          waiting.delete(check);
          resolve(untaken.splice(index, 1)[0]!);
        };
        waiting.add(check);
        check();
      });
      const tooLate = closed.then(({ code, reason }) => {
        throw new Error(`The socket was closed with ${code} ${reason}. It got ${JSON.stringify(received)}`);
      });
      tooLate.catch(() => {});
      return Promise.race([arrived, tooLate]);
    },
    async close() {
      socket.close();
      await closed;
    },
  };
}

/** Opens a socket and authenticates it. */
export async function connectSocket(url: string, token: string): Promise<SocketClient> {
  const client = await openSocket(url);
  client.send({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } });
  await client.next(({ type }) => type === 'connection_ack');
  return client;
}

/**
 * Opens a TCP connection and asks for a WebSocket. Ignores everything that the server sends later.
 *
 * @param address in `X-Forwarded-For`.
 */
export async function openDeafSocket(
  url: string,
  address = '127.0.0.1',
): Promise<{ status: string; socket: Socket; ended: Promise<unknown> }> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  const ended = once(socket, 'close');
  socket.write(
    'GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
      `Sec-WebSocket-Protocol: graphql-transport-ws\r\nX-Forwarded-For: ${address}\r\n\r\n`,
  );
  const [head] = await once(socket, 'data');
  return { status: String(head).split('\r\n')[0]!, socket, ended };
}
