import { afterAll, beforeAll, expect, test } from 'vitest';
import { QUICK_RETRIES } from '../../../src/delivery/send/retry-policy.ts';
import { text } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({ quickRetries: QUICK_RETRIES, retryScheduleSeconds: undefined });
});
afterAll(() => stage?.close());

/** Seconds between a delivery's last attempt and the next one. */
async function waitOf(id: string): Promise<number | null> {
  const { rows } = await stage.db.pool.query<{ seconds: number | null }>(
    `SELECT extract(epoch FROM "nextAttemptAt" - "updatedAt")::float8 AS "seconds" FROM "Delivery" WHERE "id" = $1`,
    [id],
  );
  return rows[0]!.seconds;
}

async function makeDueNow(id: string): Promise<void> {
  await stage.db.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "id" = $1`, [id]);
  await stage.makeDue();
}

test.each(['n8n', 'make'] as const)(
  'a failed workflow in %s is run again only after 5 seconds, 5 minutes, and 30 minutes',
  async (type) => {
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    stage.vendors.interfere(type, () => text(500, 'Error in workflow'));
    await stage.record('payment.settled');
    const [delivery] = await stage.deliveriesAre(connector.id, 'PENDING');
    const { id } = delivery!;
    for (const [index, seconds] of [5, 300, 1_800].entries()) {
      await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount: index + 1 });
      expect(stage.vendors.callsTo(type)).toHaveLength(index + 1);
      const wait = await waitOf(id);
      // The delay has up to 20% of jitter.
      expect(wait).toBeGreaterThanOrEqual(seconds * 0.79);
      expect(wait).toBeLessThanOrEqual(seconds * 1.21);
      if (index === 0) {
        const { body } = await stage.user.rest<{ remainingTries: { afterSeconds: number | null }[] }>(
          'GET',
          `${stage.base}/deliveries/${id}/explain`,
        );
        expect(body.remainingTries.map(({ afterSeconds }) => afterSeconds)).toEqual([null, 300, 1_800]);
      }
      await makeDueNow(id);
    }
    await stage.deliveriesAre(connector.id, 'FAILED');
    expect(await stage.delivery(id)).toMatchObject({
      attemptCount: 4,
      reason: expect.stringContaining('Gave up after 4 attempts'),
    });
    expect(stage.vendors.callsTo(type)).toHaveLength(4);
    stage.vendors.interfere(type, undefined);
  },
);
