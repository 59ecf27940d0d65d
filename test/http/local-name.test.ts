import { expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { requireDirectCall } from '../../src/http/local-name.ts';

type Call = Parameters<typeof requireDirectCall>[0];

const call = (remoteAddress: string | undefined, headers: Record<string, string>): Call =>
  ({ raw: { socket: { remoteAddress } }, headers }) as unknown as Call;

test.each([
  ['127.0.0.1', 'localhost:4000'],
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '[::1]:4000'],
  ['::ffff:127.0.0.1', 'localhost'],
])('a request from %s to %s is direct', (address, host) => {
  expect(() => requireDirectCall(call(address, { host }))).not.toThrow();
});

test.each<[string | undefined, Record<string, string>]>([
  ['192.0.2.1', { host: 'localhost' }],
  [undefined, { host: 'localhost' }],
  ['127.0.0.1', { host: 'rebound.example' }],
  ['127.0.0.1', { host: 'localhost.rebound.example' }],
  ['127.0.0.1', { host: 'localhost@rebound.example' }],
  ['127.0.0.1', {}],
  ['127.0.0.1', { host: 'localhost', 'x-forwarded-host': 'localhost' }],
  ['127.0.0.1', { host: 'localhost', 'x-forwarded-for': '127.0.0.1' }],
  ['127.0.0.1', { host: 'localhost', forwarded: 'for=127.0.0.1' }],
  ['127.0.0.1', { host: 'localhost', via: '1.1 proxy' }],
  ['127.0.0.1', { host: 'localhost', 'x-real-ip': '127.0.0.1' }],
])('a request from %s with %j is rejected', (address, headers) => {
  expect(() => requireDirectCall(call(address, headers))).toThrow(new AppError('FORBIDDEN'));
});
