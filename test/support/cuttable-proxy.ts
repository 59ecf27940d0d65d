import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type CuttableProxy = {
  /** `http://127.0.0.1:<port>`. Connections to it are forwarded to the target. */
  url: string;
  /** Cuts all connections, and refuses new ones until `mend`. */
  cut(): void;
  /** @param options.isSilent whether new connections are accepted, but nothing is forwarded. */
  mend(options?: { isSilent?: boolean }): void;
  /** Stops forwarding on all open connections without closing them, as if the other side had lost power. */
  silence(): void;
  /** The number of open connections. */
  openCount(): number;
  /** The number of connections that were made since the start, including those that were refused. */
  madeCount(): number;
  close(): Promise<void>;
};

/** Starts a TCP proxy with connections that can be cut, as in a failing network. */
export async function startCuttableProxy(targetUrl: string): Promise<CuttableProxy> {
  const { hostname, port } = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isMute = false;
  let made = 0;

  const server = createServer((client) => {
    made += 1;
    if (isCut) return client.destroy();
    const target = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (isMute) socket.resume();
      else socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend({ isSilent = false } = {}) {
      isCut = false;
      isMute = isSilent;
    },
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    openCount: () => sockets.size / 2,
    madeCount: () => made,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
