import { type AddressInfo, createServer, type Socket } from 'node:net';

export type RawServer = {
  port: number;
  connectionCount: () => number;
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

/**
 * Starts a TCP server that sends whatever `onConnection` writes, for responses that no HTTP library would send. If
 * `onConnection` is left out, the server is a sentinel that only counts connections.
 */
export async function startRawServer(
  onConnection: (socket: Socket) => void = () => {},
  listen: { host?: string; port?: number } = {},
): Promise<RawServer> {
  const server = createServer();
  const sockets: Socket[] = [];
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy()).resume();
    onConnection(socket);
  });
  const { host = '127.0.0.1', port = 0 } = listen;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => sockets.length,
    close,
    [Symbol.asyncDispose]: close,
  };
}
