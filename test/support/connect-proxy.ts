import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export type ConnectProxy = {
  port: number;
  /** `http://127.0.0.1:<port>`, with the credentials that it asks for. */
  url: string;
  /** The targets of all `CONNECT` requests so far, as `host:port`. */
  targets: string[];
  /**
   * Makes later requests fail with this status, or leaves them without a response. Undefined restores normal behavior.
   *
   * @param onlyPort limits this to targets with that port.
   */
  failWith: (status: number | 'silence' | undefined, onlyPort?: number) => void;
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

type ConnectProxyOptions = {
  /** `user:password`. Other callers get a 407. */
  credentials?: string;
  /** The loopback port to connect to instead of a target. */
  routes?: Record<string, number>;
};

/** Starts an HTTP proxy on loopback that only opens tunnels, and records their targets. */
export async function startConnectProxy({ credentials, routes = {} }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  let failure: number | 'silence' | undefined;
  let failingPort: number | undefined;
  const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };

  // A request that isn't a CONNECT has bypassed the tunnel.
  const server = createServer((_request, response) => void response.writeHead(405).end());
  server.on('connection', track);
  server.on('connect', (request, client: Socket, head) => {
    const target = request.url!;
    targets.push(target);
    const isFailing = failingPort === undefined || target.endsWith(`:${failingPort}`);
    const status = request.headers['proxy-authorization'] !== wanted ? 407 : isFailing ? failure : undefined;
    if (status === 'silence') return;
    if (status) {
      client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const separator = target.lastIndexOf(':');
    const routed = routes[target];
    const server = routed
      ? connect(routed, '127.0.0.1')
      : connect(Number(target.slice(separator + 1)), target.slice(0, separator).replace(/^\[|\]$/g, ''));
    track(server);
    server.once('connect', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      server.write(head);
      client.pipe(server).pipe(client);
    });
    server.once('error', () => client.end('HTTP/1.1 503 Unreachable\r\ncontent-length: 0\r\n\r\n'));
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  async function close(): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  return {
    port,
    url: `http://${credentials ? `${credentials}@` : ''}127.0.0.1:${port}`,
    targets,
    failWith: (status, onlyPort) => {
      failure = status;
      failingPort = onlyPort;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
