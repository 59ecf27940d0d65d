import { randomBytes } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import { openBus } from '../../../src/bus/bus.ts';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { openWriteBatcher } from '../../../src/database/write-batcher.ts';
import { createEventService } from '../../../src/features/events/service.ts';
import { leaseOf, type PaymentLease, type Reconciled } from '../../../src/features/payments/lease.ts';
import { createLedger, type Ledger } from '../../../src/features/payments/ledger.ts';
import type { NewPayment } from '../../../src/features/payments/payment-record.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase } from '../../support/database.ts';

export const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const PAY_TO = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
export const log = pino({ level: 'silent' });

export const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`;
/**
 * Returns what a process uses instead of a lease when it finds the outcome of another process's payment on the chain.
 */
export const reconciledOf = ({ leaseToken: _, ...identity }: PaymentLease): Reconciled => ({
  ...identity,
  reconciled: true,
});

export type TestLedger = Awaited<ReturnType<typeof openTestLedger>>;

/** A separate database with the real services. */
export async function openTestLedger(options: { url?: string; now?: () => Date } = {}) {
  const database = options.url ? undefined : await createTestDatabase();
  const url = options.url ?? database!.url;
  const db = await openDatabase({ url, poolSize: 10, log });
  const bus = await openBus({ url, pool: db.pool, log });
  const events = createEventService({ db: behindWall(db), bus });
  const batcher = openWriteBatcher({ url: db.directUrl, pool: db.pool, log });
  const ledger = createLedger({ db, batcher, events, bus, ...(options.now && { now: options.now }) });
  return {
    url,
    db,
    bus,
    batcher,
    events,
    ledger,
    project: (data: { userId?: string; milestonesAtomic?: number[] } = {}) => createProject(db, data),
    async eventsOf(projectId: string, type?: string) {
      const where = { projectId, ...(type && { type }) };
      return db.prisma.event.findMany({ where, orderBy: { id: 'asc' } });
    },
    async close() {
      await batcher.close();
      await bus.close();
      await db.close();
      await database?.drop();
    },
  };
}

/** Copies a payment along with its stored response. */
export async function copyPayment(db: Database, paymentId: string, count: number): Promise<void> {
  for (const [table, id] of [
    ['Payment', 'id'],
    ['PaymentAnswer', 'paymentId'],
  ] as const) {
    const changes = `jsonb_build_object('${id}', original."${id}" || number${table === 'Payment' ? `, 'nonce', original."nonce" || number` : ''})`;
    await db.pool.query(
      `INSERT INTO "${table}" SELECT (jsonb_populate_record(original, ${changes})).*
       FROM "${table}" original, generate_series(1, $2) number WHERE original."${id}" = $1`,
      [paymentId, count],
    );
  }
}

/**
 * Makes each delete from a table take 5 ms. Returns connections whose statements can take only as long as deleting 60 of
 * these rows.
 */
export async function withSlowDeletes(books: Pick<TestLedger, 'url' | 'db'>, table: string): Promise<pg.Pool> {
  await books.db.pool.query(`
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN OLD; END';
    CREATE TRIGGER slow BEFORE DELETE ON "${table}" FOR EACH ROW EXECUTE FUNCTION slow()`);
  return new pg.Pool({ connectionString: books.url, options: '-c statement_timeout=300' });
}

async function createProject(db: Database, data: { userId?: string; milestonesAtomic?: number[] } = {}) {
  const userId = data.userId ?? newId('User');
  if (!data.userId)
    await db.prisma.user.create({ data: { id: userId, issuer: 'https://issuer.test', subject: userId } });
  const { milestonesAtomic } = data;
  return db.prisma.project.create({
    data: {
      id: newId('Project'),
      userId,
      name: 'Shop',
      walletAddress: PAY_TO,
      ...(milestonesAtomic && { milestonesAtomic }),
    },
  });
}

/** A payment as the gateway claims it. */
export function newPayment(projectId: string, changes: Partial<NewPayment> = {}): NewPayment {
  return {
    projectId,
    endpointId: newId('Endpoint'),
    endpointPath: '/weather',
    method: 'GET',
    x402Version: 2,
    network: 'eip155:84532',
    asset: 'USDC',
    assetAddress: USDC,
    payer: hex(20),
    payTo: PAY_TO,
    nonce: hex(32),
    amountAtomic: 10_000n,
    validAfter: new Date(0),
    validBefore: new Date(Date.now() + 300_000),
    authorization: { payload: 'signed' },
    requestFingerprint: hex(32),
    leaseSeconds: 60,
    ...changes,
  };
}

export const answer = (changes: object = {}) => ({
  statusCode: 200,
  headers: { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] },
  body: Buffer.from([0, 255, 1]),
  durationMs: 12.4,
  keepUntil: new Date(Date.now() + 60_000),
  ...changes,
});

export async function claimed(ledger: Ledger, input: NewPayment): Promise<Payment> {
  const claim = await ledger.claim(input);
  if (claim.kind !== 'claimed') throw new Error('The payment was already claimed.');
  return claim.payment;
}

/** Takes a payment to the point where its settlement has been sent. */
export async function sent(ledger: Ledger, input: NewPayment): Promise<PaymentLease> {
  const lease = leaseOf(await claimed(ledger, input));
  await ledger.verified(lease);
  await ledger.served(lease, answer());
  return lease;
}

/** Takes a payment from claim to settlement. */
export async function settled(ledger: Ledger, input: NewPayment, settledAt = new Date()): Promise<Payment> {
  const lease = await sent(ledger, input);
  return ledger.settled(lease, { transactionHash: hex(32), settledAt });
}
