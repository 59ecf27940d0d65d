import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { foldOutages } from '../../src/database/fold-outages.ts';
import { toEgressError } from '../../src/egress/egress-error.ts';
import { UpstreamError } from '../../src/gateway/upstream/upstream-error.ts';

type Line = { msg: string; leftOut?: number; requestId?: string };

function openLog() {
  const lines: Line[] = [];
  const clock = { seconds: 0 };
  const hooks = { logMethod: foldOutages(() => clock.seconds * 1000) };
  const log = pino({ hooks, base: null }, { write: (line) => lines.push(JSON.parse(line)) });
  return { log, clock, lines };
}

const lost = () => new Error('Connection terminated unexpectedly');
const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const failure = (code: string) => Object.assign(new pg.DatabaseError('failed', 1, 'error'), { code });

test('a line about a lost connection is written once in 10 s, and the next one has the number of those left out', () => {
  const { log, clock, lines } = openLog();
  for (let count = 0; count < 100; count++) log.warn({ err: count % 2 ? lost() : reset() }, 'reconnecting');
  expect(lines).toHaveLength(1);
  clock.seconds = 10;
  log.warn({ err: lost() }, 'reconnecting');
  log.warn({ err: lost() }, 'reconnecting');
  clock.seconds = 20;
  log.warn({ err: lost() }, 'reconnecting');
  expect(lines.map(({ leftOut }) => leftOut)).toEqual([undefined, 99, 1]);
});

test('lines with different messages or different PostgreSQL errors are written', () => {
  const { log, lines } = openLog();
  log.warn({ err: lost() }, 'reconnecting');
  log.warn({ err: lost() }, 'not ready');
  log.child({ requestId: 'req_1' }).warn({ err: failure('57014') }, 'not ready');
  log.warn({ err: new Error('wrapped', { cause: failure('53300') }) }, 'not ready');
  log.warn({ err: failure('53300') }, 'not ready');
  expect(lines.map(({ msg }) => msg)).toEqual(['reconnecting', 'not ready', 'not ready', 'not ready']);
  expect(lines[2]).toMatchObject({ requestId: 'req_1' });
});

test('all other lines are written as they are', () => {
  const { log, lines } = openLog();
  for (let count = 0; count < 3; count++) {
    log.error({ err: failure('23505') }, 'unexpected error');
    log.error({ err: new Error('other') }, 'unexpected error');
    log.error(lost());
    log.info('hello %s', 'world');
    log.info({ url: 'x' }, 'listening on %d', 80);
  }
  expect(lines).toHaveLength(15);
  expect(lines.slice(-2).map(({ msg }) => msg)).toEqual(['hello world', 'listening on 80']);
});

test('lines about sellers’ servers that can’t be reached are written, because one seller’s must not hide another’s', () => {
  const { log, lines } = openLog();
  const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (const paymentId of ['pay_1', 'pay_2', 'pay_3']) {
    const err = new UpstreamError('connection_refused', 'failed', { cause: toEgressError(refused()) });
    log.info({ err, paymentId }, 'an upstream call failed');
    log.warn({ err: toEgressError(reset()), paymentId }, "couldn't verify a payment");
  }
  expect(lines).toHaveLength(6);
});
