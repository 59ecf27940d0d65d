import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import { createResendReader } from '../../../src/delivery/send/resends.ts';
import { countRows } from '../queue/rows-read.ts';
import { openStage, type Stage } from '../support.ts';

const ATTEMPTS = 5_000;
const MAX_READ = 100;

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(async () => {
  await stage.close();
});

/** Adds a delivery whose attempts all failed. Those with the numbers in `manual` are resends. */
async function addDelivery(manual: readonly number[], errorClass = 'http_status'): Promise<string> {
  const id = await stage.addDelivery(await stage.addConnector('xero', {}));
  await stage.pool.query(
    `INSERT INTO "Attempt" ("id", "deliveryId", "number", "trigger", "startedAt", "durationMs", "errorClass")
     SELECT new_id('att'), $1, n, (CASE WHEN n = ANY($2::int[]) THEN 'MANUAL' ELSE 'SCHEDULED' END)::"AttemptTrigger", now(), 1, $3
     FROM generate_series(1, $4) AS n`,
    [id, manual, errorClass, ATTEMPTS],
  );
  await stage.pool.query('ANALYZE "Attempt"');
  return id;
}

/** The last resend, and how many rows were read to find it. */
async function readLast(id: string, trigger: ClaimedDelivery['trigger'], previousErrorClass = 'http_status') {
  const client = await stage.pool.connect();
  try {
    await client.query('BEGIN');
    const { db, read } = countRows(client);
    const claim = { id, trigger, attemptCount: ATTEMPTS, previousErrorClass } as ClaimedDelivery;
    return { last: await createResendReader(db)(claim), read: read() };
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('few of a delivery’s thousands of attempts are read to find its last resend', async () => {
  const id = await addDelivery([3, 4_990]);
  const retried = await readLast(id, 'SCHEDULED');
  expect(retried.last).toBe(4_990);
  expect(retried.read).toBeLessThanOrEqual(MAX_READ);
  expect(await readLast(id, 'MANUAL')).toEqual({ last: ATTEMPTS + 1, read: 0 });
});

test('a resend is found however many attempts ago it was, and none if there was none', async () => {
  expect((await readLast(await addDelivery([3]), 'SCHEDULED')).last).toBe(3);
  expect((await readLast(await addDelivery([]), 'SCHEDULED')).last).toBeNull();
});

test('the first resend counts if all requests since then may have arrived', async () => {
  const all = Array.from({ length: ATTEMPTS }, (_, index) => index + 1);
  for (const trigger of ['MANUAL', 'SCHEDULED'] as const)
    expect((await readLast(await addDelivery(all, 'timeout'), trigger, 'timeout')).last).toBe(1);
});
