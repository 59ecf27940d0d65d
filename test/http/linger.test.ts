import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { linger } from '../../src/http/linger.ts';

const requestOn = (socket: Socket) => ({ complete: false, socket }) as unknown as IncomingMessage;

test('a connection is prepared once, no matter how many of its requests are refused', () => {
  const socket = new Socket();
  linger(requestOn(socket));
  const { destroySoon } = socket;
  for (let count = 0; count < 3; count++) linger(requestOn(socket));
  expect(socket.destroySoon).toBe(destroySoon);
});

test('a connection whose last request has arrived is closed right away, after any number of refused ones', () => {
  const socket = new Socket();
  let last = requestOn(socket);
  for (let count = 0; count < 50_000; count++) {
    last = requestOn(socket);
    linger(last);
  }
  Object.assign(last, { complete: true });
  socket.destroySoon();
  expect(socket.destroyed || socket.writableEnded).toBe(true);
});
