import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type CuttableProxy = {
  /** `http://127.0.0.1:<port>`: whatever connects here is connected to the target. */
  url: string;
  /** Cuts every connection, and lets none through until `mend`. */
  cut(): void;
  mend(): void;
  /** Carries nothing more over the connections there are, and says nothing: the other side has lost its power. */
  silence(): void;
  /** How many connections are open. */
  openCount(): number;
  close(): Promise<void>;
};

/** A TCP proxy whose connections can be cut, as networks do. */
export async function startCuttableProxy(targetUrl: string): Promise<CuttableProxy> {
  const { hostname, port } = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let isCut = false;

  const server = createServer((client) => {
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
      socket.pipe(other);
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
    mend() {
      isCut = false;
    },
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    openCount: () => sockets.size / 2,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
