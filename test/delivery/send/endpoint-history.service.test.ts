import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ConnectorEvent } from '../../../src/connectors/definition.ts';
import { createEndpointHistory } from '../../../src/delivery/send/endpoint-history.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { waitingStatements } from '../../support/waiting-statements.ts';
import { countRows } from '../queue/rows-read.ts';
import { openStage, type Stage } from '../support.ts';

const QUESTION = { endpointId: 'ep_asked', minutes: 60 };
const MAX_READ = 5_000;

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(async () => {
  await stage.close();
});

/** Adds events of an endpoint to the project, with the current time. */
async function addEvents(type: 'payment.failed' | 'payment.settled', endpointId: string, count = 1): Promise<void> {
  const fault = type === 'payment.failed' ? { stage: 'upstream', reason: 'upstream_timeout' } : {};
  await stage.pool.query(
    `INSERT INTO "Event" ("id", "projectId", "type", "data")
     SELECT new_id('evt'), $1, $2, $3 FROM generate_series(1, $4)`,
    [stage.projectId, type, JSON.stringify({ ...SAMPLE_PAYLOADS[type], ...fault, endpointId }), count],
  );
}

async function eventNow(): Promise<ConnectorEvent> {
  const { rows } = await stage.pool.query('SELECT clock_timestamp() AS now');
  return { type: 'payment.failed', projectId: stage.projectId, timestamp: rows[0].now.toISOString() } as ConnectorEvent;
}

test('an endpoint’s failures and its last settled payment are found among those of other endpoints', async () => {
  await addEvents('payment.failed', 'ep_other', 3);
  await addEvents('payment.failed', QUESTION.endpointId, 2);
  const event = await eventNow();
  await addEvents('payment.failed', 'ep_other', 3);
  await addEvents('payment.failed', QUESTION.endpointId, 2);
  const failed = await createEndpointHistory(stage.pool)(event, QUESTION, 'usr_1');
  expect(failed).toEqual({ upstreamFaults: expect.any(Array), settledAt: null });
  expect(failed.upstreamFaults).toHaveLength(4);
  expect(failed.upstreamFaults).toEqual(failed.upstreamFaults.toSorted().toReversed());

  await addEvents('payment.settled', QUESTION.endpointId);
  await addEvents('payment.settled', 'ep_other', 3);
  const { settledAt } = await createEndpointHistory(stage.pool)(event, QUESTION, 'usr_1');
  expect(settledAt! > event.timestamp).toBe(true);
});

test('only a limited number of events is read, no matter how many payments a project has', async () => {
  await addEvents('payment.failed', 'ep_other', 2 * MAX_READ);
  await addEvents('payment.failed', QUESTION.endpointId, 3);
  const event = await eventNow();
  for (const type of ['payment.failed', 'payment.settled'] as const) await addEvents(type, 'ep_other', 2 * MAX_READ);
  await stage.pool.query('ANALYZE');

  const client = await stage.pool.connect();
  await client.query('BEGIN');
  const { db, read } = countRows(client);
  const { upstreamFaults } = await createEndpointHistory(db)(event, QUESTION, 'usr_1');
  await client.query('ROLLBACK');
  client.release();
  expect(upstreamFaults).toHaveLength(3);
  expect(read()).toBeLessThanOrEqual(3 * MAX_READ + 100);
});

test('histories take one connection, so that claims and results get the others', async () => {
  const event = await eventNow();
  const readHistory = createEndpointHistory(stage.pool);
  const lock = await stage.pool.connect();
  await lock.query('BEGIN; LOCK TABLE "Event" IN ACCESS EXCLUSIVE MODE');
  const reading = ['usr_1', 'usr_1', 'usr_2', 'usr_2'].map((account) => readHistory(event, QUESTION, account));
  await expect.poll(() => waitingStatements(stage.pool)).toBeGreaterThanOrEqual(1);
  // The pool starts statements in order.
  await stage.pool.query('SELECT');
  const waiting = await waitingStatements(stage.pool);
  await lock.query('COMMIT');
  lock.release();
  expect(waiting).toBe(1);
  expect(await Promise.all(reading)).toHaveLength(4);
});
