import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { followClock } from '../../../src/clock.ts';
import { listConnectors } from '../../../src/connectors/types/registry.ts';
import { keepPartitions } from '../../../src/database/partitions.ts';
import { DELETED_USER_ID } from '../../../src/features/deletions/soft-delete.ts';
import { sweepNotices } from '../../../src/features/notices/sweep.ts';
import { firstIdAt, type IdType, newId } from '../../../src/ids.ts';
import type { Row } from '../../delivery/support.ts';
import { type NoticeStage, openNoticeStage } from './support.ts';

const DAY = 86_400_000;

let stage: NoticeStage;
let projectId: string;

beforeAll(async () => {
  stage = await openNoticeStage();
});
beforeEach(async () => {
  projectId = await stage.addProject();
});
afterAll(() => stage?.close());

/** An ID made at this time. `newId` never goes back in time. */
const idAt = (type: IdType, milliseconds: number) =>
  firstIdAt(type, milliseconds).slice(0, -10) + newId(type).slice(-10);

/** Adds a payment that began this many minutes ago. */
async function addPayment(minutesAgo: number, values: Row): Promise<string> {
  const begun = new Date(Date.now() - minutesAgo * 60_000);
  const id = idAt('Payment', begun.getTime());
  const row: Row = {
    id,
    projectId,
    endpointId: 'ep_1',
    endpointPath: '/now',
    method: 'GET',
    x402Version: 2,
    network: 'eip155:84532',
    asset: 'USDC',
    assetAddress: '0x1',
    payer: '0x2',
    payTo: '0x3',
    nonce: id,
    amountAtomic: 10_000,
    validAfter: begun,
    validBefore: begun,
    requestFingerprint: 'f',
    createdAt: begun,
    ...values,
  };
  const columns = Object.keys(row).map((name) => `"${name}"`);
  const places = columns.map((_, index) => `$${index + 1}`);
  await stage.pool.query(`INSERT INTO "Payment" (${columns}) VALUES (${places})`, Object.values(row));
  return id;
}

const later = () => new Date(Date.now() + 60_000);
const notices = () => stage.noticesOf(projectId);

describe('a check', () => {
  test('finds payments with an outcome that has been unknown for an hour, and closes the notice when it is known', async () => {
    const unknown = { status: 'UNKNOWN', leasedUntil: later() };
    await addPayment(59, unknown);
    await stage.check();
    expect(await notices()).toEqual([]);
    const ids = [await addPayment(61, unknown), await addPayment(90, unknown)];
    await stage.check();
    await stage.check();
    expect(await notices()).toMatchObject([
      { type: 'payment.uncertain', count: 2, subjectId: projectId, closedAt: null },
    ]);
    await stage.pool.query(`UPDATE "Payment" SET "leasedUntil" = NULL, "status" = 'SETTLED' WHERE "id" = ANY ($1)`, [
      ids,
    ]);
    await stage.check();
    expect(await notices()).toMatchObject([{ closedAt: expect.any(Date), dueAt: null }]);
  });

  test('finds three payments in a row that failed because of the facilitator', async () => {
    const failed = { status: 'FAILED', failureStage: 'VERIFY', failureReason: 'facilitator_unavailable' };
    await addPayment(20, failed);
    await addPayment(3, failed);
    await addPayment(2, failed);
    await addPayment(2, { ...failed, failureReason: 'invalid_signature' });
    await stage.check();
    expect(await notices()).toEqual([]);
    await addPayment(1, failed);
    await stage.check();
    const found = [{ type: 'facilitator.unreachable', count: 3, closedAt: null }];
    expect(await notices()).toMatchObject(found);
    // Otherwise, processes with different clocks would keep opening and closing it.
    followClock(() => performance.timeOrigin + performance.now());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    await stage.check().finally(() => vi.useRealTimers());
    expect(await notices()).toMatchObject(found);
    await addPayment(0, { status: 'VERIFIED', verifiedAt: new Date() });
    await stage.check();
    expect(await notices()).toMatchObject([{ closedAt: expect.any(Date) }]);
  });

  test('finds undelivered deliveries three days before they are deleted, and not earlier', async () => {
    const webhook = await stage.addWebhook('https://hooks.example.com/in', { projectId });
    for (const status of ['PENDING', 'PENDING', 'SUCCEEDED'])
      await stage.addDelivery(webhook.id, { projectId, status });
    const countLeft = async () =>
      (await stage.pool.query(`SELECT count(*)::int AS n FROM "Delivery" WHERE "webhookId" = $1`, [webhook.id])).rows[0]
        .n;
    // Shortening the retention period has the same effect as letting time pass.
    let retentionDays = 6;
    await stage.check({ retentionDays });
    expect(await notices()).toEqual([]);
    while ((await notices()).length === 0 && retentionDays > -12) {
      retentionDays -= 1;
      await stage.check({ retentionDays });
    }
    expect(await notices()).toMatchObject([
      { type: 'deliveries.expiring', subjectId: webhook.id, subject: 'hooks.example.com', count: 2, closedAt: null },
    ]);
    const { pool, log } = stage;
    await keepPartitions({ pool, log, retentionDays: retentionDays - 2 });
    expect(await countLeft()).toBe(3);
    await keepPartitions({ pool, log, retentionDays: retentionDays - 3 });
    expect(await countLeft()).toBe(0);
    await stage.check({ retentionDays: retentionDays - 3 });
    expect(await notices()).toMatchObject([{ closedAt: expect.any(Date) }]);
  });

  /** Adds unfinished deliveries. */
  async function addUnfinished(destinationId: string, count: number, values: Row = {}): Promise<void> {
    const id = await stage.addDelivery(destinationId, { projectId, status: 'PENDING', ...values });
    const { rows } = await stage.pool.query<{ names: string }>(
      `SELECT string_agg(quote_ident(attname), ', ') AS "names" FROM pg_attribute
       WHERE attrelid = '"Delivery"'::regclass AND attnum > 0 AND attgenerated = '' AND NOT attisdropped AND attname <> 'id'`,
    );
    await stage.pool.query(
      `INSERT INTO "Delivery" ("id", ${rows[0]!.names})
       SELECT left("id", -10) || lpad(n::text, 10, '0'), ${rows[0]!.names} FROM "Delivery", generate_series(1, $2) AS n WHERE "id" = $1`,
      [id, count - 1],
    );
  }

  test('counts at most 10,000 deliveries that expire, and still finds those of another paused destination', async () => {
    const [large, small] = [
      await stage.addWebhook('https://large.example.com/in', { projectId }),
      await stage.addWebhook('https://small.example.com/in', { projectId, pausedAt: new Date() }),
    ];
    await addUnfinished(large.id, 10_001);
    await addUnfinished(small.id, 2, { reason: 'paused', nextAttemptAt: null });
    await stage.check({ retentionDays: -12 });
    const found = (await notices()).map(({ type, subject, count }) => ({ type, subject, count }));
    expect(found).toHaveLength(2);
    expect(found).toEqual(
      expect.arrayContaining([
        { type: 'deliveries.expiring', subject: 'large.example.com', count: 10_000 },
        { type: 'deliveries.expiring', subject: 'small.example.com', count: 2 },
      ]),
    );
    await stage.pool.query('DELETE FROM "Delivery" WHERE "projectId" = $1', [projectId]);
    await stage.check({ retentionDays: -12 });
    expect((await notices()).filter(({ closedAt }) => closedAt === null)).toEqual([]);
  });

  test('of the deliveries that expire works for other projects if it fails for some', async () => {
    const broken = projectId;
    const expire = async () => {
      const { id } = await stage.addWebhook('https://hooks.example.com/in', { projectId });
      await addUnfinished(id, 1);
    };
    await expire();
    await stage.pool.query(
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'too many'; END $$;
       CREATE TRIGGER fail BEFORE INSERT ON "Notice" FOR EACH ROW WHEN (NEW."projectId" = '${broken}') EXECUTE FUNCTION fail()`,
    );
    for (let count = 0; count < 100; count++) projectId = await stage.addProject();
    await expire();
    await stage.check({ retentionDays: -12 });
    await stage.pool.query('DROP FUNCTION fail CASCADE');
    expect(await stage.noticesOf(broken)).toEqual([]);
    expect(await notices()).toMatchObject([{ type: 'deliveries.expiring', count: 1 }]);
    await stage.check({ retentionDays: -12 });
    expect(await stage.noticesOf(broken)).toMatchObject([{ type: 'deliveries.expiring', count: 1 }]);
    await stage.pool.query('DELETE FROM "Delivery" WHERE "projectId" = ANY ($1)', [[broken, projectId]]);
  });

  test('finds connectors with a credential that expires within 60 days, until another one is saved', async () => {
    const connectorId = await stage.addConnector('quickbooks', { accessToken: 'a' });
    const endsIn = (days: number | null) =>
      stage.pool.query(
        `UPDATE "Connector" SET "credentialExpiresAt" = now() + make_interval(days => $2) WHERE "id" = $1`,
        [connectorId, days],
      );
    const found = async () =>
      (await stage.noticesOf(stage.projectId)).filter(({ subjectId }) => subjectId === connectorId);
    await endsIn(61);
    await stage.check();
    expect(await found()).toEqual([]);
    await endsIn(59);
    await stage.check();
    const detail = expect.stringMatching(/^The vendor will stop accepting it on [A-Z][a-z]+ \d{1,2}, \d{4}$/);
    expect(await found()).toMatchObject([
      { type: 'credential.expiring', subject: 'quickbooks', detail, closedAt: null },
    ]);
    await endsIn(null);
    await stage.check();
    expect(await found()).toMatchObject([{ closedAt: expect.any(Date) }]);
    await stage.pool.query(`UPDATE "Connector" SET "name" = 'Books' WHERE "id" = $1`, [connectorId]);
    await endsIn(59);
    await stage.check();
    expect((await found()).filter(({ closedAt }) => closedAt === null)).toMatchObject([{ subject: 'Books' }]);
  });

  /** Adds an API key with this many days left before it expires. */
  async function addApiKey(name: string, lifetimeDays: number, leftDays: number): Promise<string> {
    const id = newId('ApiKey');
    await stage.pool.query(
      `INSERT INTO "ApiKey" ("id", "projectId", "name", "environment", "hash", "last4", "createdAt", "expiresAt")
       VALUES ($1, $2, $3, 'TEST', $1, 'abcd', now() + make_interval(secs => $5::float8) - make_interval(secs => $4::float8),
         now() + make_interval(secs => $5::float8))`,
      [id, projectId, name, lifetimeDays * 86_400, leftDays * 86_400],
    );
    return id;
  }
  const endsIn = (id: string, days: number) =>
    stage.pool.query(`UPDATE "ApiKey" SET "expiresAt" = now() + make_interval(secs => $2::float8) WHERE "id" = $1`, [
      ...[id, days * 86_400],
    ]);

  test('finds API keys a week before they expire, a day before, and after it, and sends each notice once', async () => {
    const id = await addApiKey('deploy', 90, 7.1);
    const sent = async () => {
      const { rows } = await stage.pool.query(
        `UPDATE "Notice" SET "dueAt" = NULL, "notifiedAt" = now(), "readAt" = now()
         WHERE "projectId" = $1 AND "dueAt" IS NOT NULL RETURNING "type", "count", "subject", "subjectId", "detail"`,
        [projectId],
      );
      return rows;
    };
    const steps = [];
    for (const days of [7.1, 6.9, 5, 1.1, 0.9, 0.5, -0.1, -6.9]) {
      await endsIn(id, days);
      await stage.check();
      steps.push([days, ...(await sent()).map(({ type, count }) => `${type} ${count}`)]);
    }
    expect(steps).toEqual([
      ...[[7.1], [6.9, 'api_key.expiring 1'], [5], [1.1], [0.9, 'api_key.expiring 2'], [0.5]],
      ...[[-0.1, 'api_key.expired 1'], [-6.9]],
    ]);
    expect(await notices()).toMatchObject([
      {
        type: 'api_key.expiring',
        closedAt: expect.any(Date),
        detail: expect.stringMatching(/^It expires on \w+ \d+, \d{4}, /),
      },
      { type: 'api_key.expired', subject: 'deploy (…abcd)', subjectId: id, closedAt: null },
    ]);
    await endsIn(id, -7.1);
    await stage.check();
    expect((await notices())[1]).toMatchObject({ closedAt: expect.any(Date) });
  });

  test('writes only what changed', async () => {
    const ids = [await addApiKey('first', 90, 5), await addApiKey('second', 90, 5), await addApiKey('third', 90, -1)];
    const versions = async () => {
      const sql = `SELECT "subjectId", ctid || ' ' || xmin || ' ' || xmax AS version FROM "Notice" WHERE "projectId" = $1`;
      const { rows } = await stage.pool.query(sql, [projectId]);
      return ids.map((id) => rows.find(({ subjectId }) => subjectId === id).version);
    };
    await stage.check();
    const [first, second, third] = await versions();
    await endsIn(ids[0]!, 4);
    await stage.check();
    // A row that is only locked has a new version too, because its `xmax` changes.
    const [changed, ...same] = await versions();
    expect(same).toEqual([second, third]);
    expect(changed).not.toBe(first);
  });

  test('ignores revoked API keys, and API keys that were created with a short lifetime', async () => {
    await addApiKey('for a day', 0.9, 0.5);
    await addApiKey('was for a day', 0.9, -0.1);
    await addApiKey('for five days', 5, 3);
    const revoked = await addApiKey('revoked', 90, 3);
    await stage.check();
    expect(await notices()).toMatchObject([{ subjectId: revoked, closedAt: null }]);
    await stage.pool.query(`UPDATE "ApiKey" SET "revokedAt" = now() WHERE "id" = $1`, [revoked]);
    await addApiKey('for five days, with hours left', 5, 0.5);
    await stage.check();
    expect(await notices()).toMatchObject([
      { subjectId: revoked, closedAt: expect.any(Date) },
      { count: 2, subject: 'for five days, with hours left (…abcd)' },
    ]);
  });

  test('finds connectors for a vendor that will shut down, starting 180 days before', async () => {
    const [opsgenie] = listConnectors().filter(({ type }) => type === 'opsgenie');
    const lastDay = Date.parse(opsgenie!.shutdown!.on);
    const connectorId = await stage.addConnector('opsgenie', { apiKey: 'k' });
    const moved = await stage.addConnector('opsgenie', { apiKey: 'k' }, { config: { region: 'jsm' } });
    const found = async () =>
      (await stage.noticesOf(stage.projectId)).filter(({ subjectId }) => subjectId === connectorId);
    await stage.check({ now: () => lastDay - 181 * DAY });
    expect(await found()).toEqual([]);
    await stage.check({ now: () => lastDay - 180 * DAY });
    expect(await found()).toMatchObject([
      { type: 'vendor.shutdown', subject: 'Opsgenie', detail: expect.stringContaining('April 5, 2027') },
    ]);
    expect((await stage.noticesOf(stage.projectId)).map(({ subjectId }) => subjectId)).not.toContain(moved);
    await stage.pool.query(`UPDATE "Connector" SET "isActive" = false WHERE "id" = $1`, [connectorId]);
    await stage.check({ now: () => lastDay });
    expect(await found()).toMatchObject([{ closedAt: expect.any(Date) }]);
  });

  test('does not keep other checks from running if it fails', async () => {
    await addPayment(61, { status: 'UNKNOWN', leasedUntil: later() });
    const broken = [{ type: 'slack', title: 'Slack', shutdown: { on: '2020-01-01', advice: '\0' } }];
    await stage.check({ definitions: broken as never });
    expect(await notices()).toMatchObject([{ type: 'payment.uncertain' }]);
    expect(stage.lines).toContainEqual(expect.objectContaining({ notice: 'vendor.shutdown' }));
  });
});

test('a project that removes its custom domain gets a notice, and one that is deleted does not', async () => {
  const rename = (host: string | null) =>
    stage.pool.query(`UPDATE "Project" SET "gatewayHost" = $2 WHERE "id" = $1`, [projectId, host]);
  await rename('api.example.com');
  expect(await notices()).toEqual([]);
  await rename(null);
  expect(await notices()).toMatchObject([
    { type: 'host.lost', subject: 'api.example.com', closedAt: expect.any(Date), dueAt: expect.any(Date) },
  ]);
  await rename('api.example.com');
  await stage.pool.query(`UPDATE "Project" SET "gatewayHost" = NULL, "userId" = $2 WHERE "id" = $1`, [
    projectId,
    DELETED_USER_ID,
  ]);
  expect(await notices()).toHaveLength(1);
});

test('notices are deleted 90 days after they end, and open ones are kept', async () => {
  const insert = (type: string, closedAt: string | null) =>
    stage.pool.query(
      `INSERT INTO "Notice" ("id", "projectId", "type", "subjectId", "subject", "firstAt", "closedAt")
       VALUES (new_id('ntc'), $1, $2, $1, '', now() - interval '1 year', now() - $3::interval)`,
      [projectId, type, closedAt],
    );
  await insert('host.lost', '91 days');
  await insert('destination.recovered', '89 days');
  await insert('payment.uncertain', null);
  await sweepNotices(stage.pool);
  expect((await notices()).map(({ type }) => type).sort()).toEqual(['destination.recovered', 'payment.uncertain']);
});
