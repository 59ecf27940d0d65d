import { once } from 'node:events';
import { connect } from 'node:net';

export type Connection = {
  /** Sends a request and waits for the whole response. Only one request can run at a time. */
  send(request: string): Promise<{ status: number; text: string }>;
  close(): void;
};

/** A kept-alive HTTP connection, cheap enough that the servers remain the bottleneck. */
export async function openConnection(host: string, port: number, localAddress: string): Promise<Connection> {
  const socket = connect({ host, port, localAddress, noDelay: true });
  await once(socket, 'connect');
  socket.setEncoding('latin1');
  let text = '';
  let response = Promise.withResolvers<{ status: number; text: string }>();
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (!isWhole(text)) return;
    const whole = text;
    text = '';
    response.resolve({ status: Number(whole.slice(9, 12)), text: whole });
  });
  socket.on('error', (error) => response.reject(error));
  socket.on('close', () => response.reject(new Error(`The server closed the connection: ${text}`)));
  return {
    send(request) {
      response = Promise.withResolvers();
      socket.write(request);
      return response.promise;
    },
    close: () => void socket.destroy(),
  };
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length);
}
