import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { openSocket, type SocketClient } from './socket-client.ts';

const SOCKETS = 40;
const [MANY, ONE] = ['203.0.113.7', '198.51.100.9'];
/** With so many keys, a message takes several milliseconds. */
const LARGE_PING = {
  type: 'ping',
  payload: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, 1])),
};

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', TRUSTED_PROXIES: '127.0.0.1' } });
});
afterAll(() => app?.stop());

const openFrom = (address: string, count: number): Promise<SocketClient[]> =>
  Promise.all(Array.from({ length: count }, () => openSocket(app.url, { headers: { 'x-forwarded-for': address } })));

test('a message doesn’t wait until those of an address that has sent many large ones are handled', async () => {
  const many = await openFrom(MANY, SOCKETS);
  const [one] = await openFrom(ONE, 1);
  let answered = 0;
  for (const { socket } of many) socket.once('message', () => answered++);
  const answeredBefore = one!.next(({ type }) => type === 'pong').then(() => answered);
  for (const { send } of many) send(LARGE_PING);
  one!.send({ type: 'ping' });
  expect(await answeredBefore).toBeLessThan(SOCKETS / 2);
  await expect.poll(() => answered).toBe(SOCKETS);
  await Promise.all([...many, one!].map((client) => client.close()));
});

test('a socket that closes while its message waits doesn’t keep those behind it waiting', async () => {
  const many = await openFrom(MANY, SOCKETS);
  for (const { send } of many) send(LARGE_PING);
  for (const { socket } of many) socket.terminate();
  const [last] = await openFrom(MANY, 1);
  last!.send({ type: 'ping' });
  expect(await last!.next()).toEqual({ type: 'pong' });
  await last!.close();
});
