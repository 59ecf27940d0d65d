import { expect, test } from 'vitest';
import { createClaimLoop } from '../../../src/delivery/queue/claim-loop.ts';
import { createWakeSignal } from '../../../src/wake-signal.ts';
import { openStage } from '../support.ts';

const SETTINGS = { maxInFlight: 2_048, claimBatch: 256, leaseSeconds: 30, pollMilliseconds: 1_000 };
/** Each has many more deliveries than are parked in one step. */
const CROWDED = 128;
const OF_EACH = 300;
/** Many fewer than are parked until the next claim from the beginning of the queue, which also finds the delivery. */
const PARKED_BEFORE_NEXT_SCAN = 6_000;
/** Many more than a claim looks at. */
const OTHERS = 8_000;

test('a delivery that wasn’t found immediately doesn’t wait until another account’s destinations are parked', async () => {
  const stage = await openStage();
  const [busy, other] = [await stage.addProject(), await stage.addProject()];
  const { rows } = await stage.pool.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [busy]);
  const account = rows[0].userId as string;
  const { id: first } = await stage.addWebhook('https://a.example', { projectId: busy });
  const eventId = await stage.addEvent({ projectId: busy });
  await stage.pool.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "origin", "eventTypes", "secret")
     SELECT 'wh_' || n, "projectId", "url", "origin", "eventTypes", "secret"
     FROM "Webhook", generate_series(1, ${CROWDED + OTHERS}) n WHERE "id" = $1`,
    [first],
  );
  await stage.pool.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt")
     SELECT 'dlv_' || n || '_' || m, $1, $2, 'endpoint.created', 'wh_' || n, now() - interval '1 hour' + make_interval(secs => m)
     FROM generate_series(1, ${CROWDED + OTHERS}) n CROSS JOIN generate_series(1, ${OF_EACH}) m WHERE n <= ${CROWDED} OR m = ${OF_EACH}`,
    [busy, eventId],
  );
  const { id: webhookId } = await stage.addWebhook('https://b.example', { projectId: other });
  const add = (secondsAgo: number) =>
    stage.addDelivery(webhookId, { projectId: other, nextAttemptAt: new Date(Date.now() - secondsAgo * 1_000) });
  const loop = createClaimLoop({
    pool: stage.pool,
    log: stage.log,
    admission: {
      freeSlots: () => 512,
      claimCapacity: () => ({
        limit: 128,
        retryLimit: 128,
        capacity: new Map(),
        defaultCapacity: 128,
        accountCapacity: { known: new Map([[account, -1]]), others: 256 },
        originCapacity: { known: new Map(), others: 1_000, shares: [] },
      }),
      usage: () => ({ amounts: new Map([[account, 1_536]]), heaviest: account }),
      reopensInSeconds: () => Number.POSITIVE_INFINITY,
      refresh: async () => {},
    },
    leases: { prolong: async () => {} },
    signal: createWakeSignal(SETTINGS.pollMilliseconds),
    isOwnTurn: () => true,
    isOnHold: () => false,
    settings: SETTINGS,
  });
  const claims = loop.claims();
  await add(0);
  await claims.next();
  // As if the claims in the meantime had taken this long.
  const late = await add(10);
  const { value } = await claims.next();
  expect(value?.map(({ id }) => id)).toEqual([late]);
  const parked = await stage.pool.query('SELECT count(*)::int AS "count" FROM "Delivery" WHERE "isParked"');
  expect(parked.rows[0].count).toBeLessThan(PARKED_BEFORE_NEXT_SCAN);
  loop.stop();
  await claims.return();
  await stage.close();
});
