import { Socket } from 'node:net';
import { errors } from 'undici';
import { expect, test } from 'vitest';
import { tolerant } from '../../src/egress/tolerant-socket.ts';

test('a socket that is destroyed because of long headers captures no stack trace for each of the following headers', async () => {
  const socket = tolerant(new Socket()).on('error', () => {});
  socket.destroy(new errors.HeadersOverflowError());
  const during = new Error('another header').stack;
  await Promise.resolve();
  expect(during).not.toContain('\n    at ');
  expect(new Error('afterward').stack).toContain('\n    at ');
  expect(socket.destroyed).toBe(true);
});

test('a socket that is destroyed for another reason leaves stack traces as they are', () => {
  tolerant(new Socket())
    .on('error', () => {})
    .destroy(new Error('other'));
  expect(new Error('afterward').stack).toContain('\n    at ');
});
