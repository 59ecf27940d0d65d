import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.ts';
import { unavailability } from '../../src/database/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let db: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  db = await openDatabase({ url: testDatabase.url, poolSize: 2, log: pino({ level: 'silent' }) });
});
afterAll(async () => {
  await db?.close();
  await testDatabase?.drop();
});

const thrown = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Ways in which a server error reaches the service. */
const WAYS: Record<string, (code: string) => Promise<unknown>> = {
  'from the driver': (code) => db.pool.query(raise(code)),
  'through Prisma': (code) => db.prisma.$executeRawUnsafe(raise(code)),
  'within a Prisma transaction': (code) => db.prisma.$transaction((tx) => tx.$executeRawUnsafe(raise(code))),
};
const raise = (code: string) => `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = 'raised'; END $$`;

describe.each(Object.keys(WAYS))('a PostgreSQL error %s', (way) => {
  test.each([
    ...['08000', '08001', '08003', '08006', '53000', '53100', '53200', '53300', '53400', '57P01', '57P02', '57P03'],
    ...['58030', '25006', '57014', '55P03', '40001', '40P01'],
  ])('%s means that the database is unavailable', async (code) => {
    const error = unavailability(await thrown(WAYS[way]!(code)));
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: 503, retryable: true, retryAfterSeconds: 1 });
  });

  test.each(['22021', '23505', '42601', '42P01', 'XX000', 'P0001'])('%s is an internal error', async (code) => {
    const error = await thrown(WAYS[way]!(code));
    expect(error).toBeInstanceOf(Error);
    expect(unavailability(error)).toBeUndefined();
  });
});

test('a refused connection means that the database is unavailable', async () => {
  const url = new URL(testDatabase.url);
  url.port = '9';
  for (const host of ['127.0.0.1', 'localhost']) {
    url.hostname = host;
    const error = await thrown(openDatabase({ url: url.href, poolSize: 1, log: pino({ level: 'silent' }) }));
    expect(unavailability(error)).toMatchObject({ code: 'UNAVAILABLE' });
  }
});

test('a connection closed during a statement or transaction means that the database is unavailable', async () => {
  const suicide = 'SELECT pg_terminate_backend(pg_backend_pid())';
  for (const run of [
    () => db.pool.query(suicide),
    () => db.prisma.$queryRawUnsafe(suicide),
    () => db.prisma.$transaction((tx) => tx.$queryRawUnsafe(suicide)),
  ]) {
    expect(unavailability(await thrown(run()))).toMatchObject({ code: 'UNAVAILABLE' });
  }
});

test('an error with another source does not mean that the database is unavailable', () => {
  const endless = new Error('endless');
  endless.cause = endless;
  for (const error of [undefined, null, 'text', new Error('x'), new TypeError('x'), endless, { code: 7 }]) {
    expect(unavailability(error)).toBeUndefined();
  }
});
