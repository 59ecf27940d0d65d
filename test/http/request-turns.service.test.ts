import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';

const CONNECTIONS = 200;
const [MANY, ONE] = ['203.0.113.7', '198.51.100.9'];

let app: TestApp;
const sockets: Socket[] = [];
beforeAll(async () => {
  app = await startTestApp({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await app.stop();
});

/** Opens a connection that the server has already accepted. */
async function open(): Promise<Socket> {
  const socket = connect((app.http.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  socket.write(requestFrom('192.0.2.1'));
  await once(socket, 'data');
  return socket;
}

const requestFrom = (address: string) =>
  `GET /unknown HTTP/1.1\r\nHost: tollgate.example\r\nX-Forwarded-For: ${address}\r\n\r\n`;

test('a request doesn’t wait until all requests of an address that has sent many are handled', async () => {
  const many = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  const one = await open();
  let answered = 0;
  for (const socket of many) socket.once('data', () => answered++);
  const answeredBefore = once(one, 'data').then(() => answered);
  for (const socket of many) socket.write(requestFrom(MANY));
  one.write(requestFrom(ONE));
  expect(await answeredBefore).toBeLessThan(CONNECTIONS / 2);
  await expect.poll(() => answered).toBe(CONNECTIONS);
});

test('requests that were sent on one connection get their responses in order', async () => {
  const socket = await open();
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  const paths = Array.from({ length: 12 }, (_, index) => `/unknown-${index}`);
  socket.write(paths.map((path) => requestFrom(MANY).replace('/unknown', path)).join(''));
  const answered = () => Array.from(text.matchAll(/"instance":"([^"]+)"/g), ([, path]) => path);
  await expect.poll(answered).toEqual(paths);
});

test('a request whose connection was closed while it waited doesn’t keep those behind it waiting', async () => {
  const many = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  for (const socket of many) socket.write(requestFrom(MANY));
  for (const socket of many) socket.destroy();
  const last = await open();
  last.write(requestFrom(MANY));
  expect(String(await once(last, 'data'))).toContain('HTTP/1.1 404');
});
