import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { expect } from 'vitest';
import { type Bus, openBus } from '../../../src/bus/bus.ts';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import type { DeliverySettings } from '../../../src/delivery/delivery-settings.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import type { EventPayload, EventType } from '../../../src/events/types.ts';
import type { NewEvent } from '../../../src/features/events/new-event.ts';
import { createEventService } from '../../../src/features/events/service.ts';
import { startTestApp, type TestResponse, type TestUser } from '../../support/app.ts';
import { sampleConfig } from '../support/configs.ts';
import { startVendors } from '../support/vendors/server.ts';

export type Connector = {
  id: string;
  type: string;
  config: Record<string, unknown>;
  isActive: boolean;
  disabledReason: string | null;
  pausedReason: string | null;
  pausedAt: string | null;
  failingSince: string | null;
};

export type Delivery = {
  id: string;
  eventId: string;
  eventType: string;
  status: string;
  reason: string | null;
  statusCode: number | null;
  errorClass: string | null;
  attemptCount: number;
  retryCount: number;
  nextAttemptAt: string | null;
  attempts?: { number: number; statusCode: number | null; errorClass: string | null; responseBody: string | null }[];
};

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Retries follow immediately and never within a claim, so every attempt is part of the schedule. */
const SETTINGS: Partial<DeliverySettings> = {
  retryScheduleSeconds: [0.05, 0.05, 0.05, 0.05],
  quickRetries: { maxRetries: 0, maxDurationMilliseconds: 1_000, maxRetryAfterSeconds: 2, minDelayMilliseconds: 1 },
  pollMilliseconds: 100,
};

const silent = pino({ level: 'silent' });

/** Starts the whole service with fake vendors, a user without rate limits, and a project. */
export async function openStage(
  delivery: Partial<DeliverySettings> = {},
  options: Parameters<typeof startTestApp>[0] = {},
) {
  const vendors = await startVendors();
  const hostOverrides = { ...vendors.hostOverrides, ...options.hostOverrides };
  const app = await startTestApp({ ...options, hostOverrides, delivery: { ...SETTINGS, ...delivery } });
  const db: Database = await openDatabase({ url: app.databaseUrl, poolSize: 3, log: silent });
  const bus: Bus = await openBus({ url: app.databaseUrl, pool: db.pool, log: silent });
  const events = createEventService({ db: behindWall(db), bus });
  const user: TestUser = await app.user('alice', 'ENTERPRISE');
  const wallet = { name: 'Shop', walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045' };
  const project = await user.rest<{ id: string }>('POST', '/api/projects', wallet);
  const base = `/api/projects/${project.body.id}`;

  const stage = {
    app,
    vendors,
    db,
    bus,
    user,
    base,
    projectId: project.body.id,

    /** Creates a mark. From now on, vendors accept credentials that contain it. */
    newMark(): string {
      const mark = randomUUID().replaceAll('-', '').replace(/^./, 'k');
      vendors.accept(mark);
      return mark;
    },

    /** Creates a connector over REST, by default with credentials that its vendor accepts. */
    async connect(
      type: ConnectorType,
      options: { eventTypes?: readonly string[]; mark?: string; config?: Record<string, unknown> } = {},
    ): Promise<Connector & { mark: string }> {
      const { eventTypes = ['*'], mark = stage.newMark(), config } = options;
      const body = { type, config: { ...sampleConfig(type, 'required', mark), ...config }, eventTypes };
      const response: TestResponse<Connector> = await user.rest('POST', `${base}/connectors`, body);
      expect(response.status, JSON.stringify(response.body)).toBe(201);
      return { ...response.body, mark };
    },

    async connector(id: string): Promise<Connector> {
      return (await user.rest<Connector>('GET', `${base}/connectors/${id}`)).body;
    },

    async patch(id: string, changes: object): Promise<TestResponse<Connector>> {
      return user.rest('PATCH', `${base}/connectors/${id}`, changes);
    },

    /** Records an event as the gateway does, by default with the sample payload. Returns its ID. */
    async record<K extends EventType>(
      type: K,
      data: Partial<EventPayload<K>> = {},
      options: { secondsAgo?: number; isHeldBack?: boolean } = {},
    ): Promise<string> {
      const event = { projectId: stage.projectId, type, data: { ...SAMPLE_PAYLOADS[type], ...data } } as NewEvent;
      const { eventId } = await db.prisma.$transaction(async (tx) => {
        const recorded = await events.record(tx, event);
        const createdAt = new Date(Date.now() - (options.secondsAgo ?? 0) * 1000);
        const times = { createdAt, ...(options.isHeldBack && { nextAttemptAt: new Date(Date.now() + 3_600_000) }) };
        await tx.delivery.updateMany({ where: { eventId: recorded.eventId, status: 'PENDING' }, data: times });
        return recorded;
      });
      if (!options.isHeldBack) events.announce(stage.projectId);
      return eventId;
    },

    /** Makes all held-back deliveries due at the same time. */
    async makeDue(): Promise<void> {
      const where = { status: 'PENDING' as const, nextAttemptAt: { gt: new Date(Date.now() + 1_800_000) } };
      await db.prisma.delivery.updateMany({ where, data: { nextAttemptAt: new Date() } });
      events.announce(stage.projectId);
    },

    /** The connector's history over REST, newest first. */
    async deliveries(connectorId: string): Promise<Delivery[]> {
      const path = `${base}/connectors/${connectorId}/deliveries?limit=100`;
      return (await user.rest<{ data: Delivery[] }>('GET', path)).body.data;
    },

    /** One delivery with its attempts. */
    async delivery(id: string): Promise<Delivery> {
      return (await user.rest<Delivery>('GET', `${base}/deliveries/${id}`)).body;
    },

    /** Waits until the connector has `count` deliveries with that status, and returns them. */
    async deliveriesAre(connectorId: string, status: string, count = 1, timeout = 60_000): Promise<Delivery[]> {
      let found: Delivery[] = [];
      const inState = async () => {
        found = (await stage.deliveries(connectorId)).filter((each) => each.status === status);
        return found;
      };
      const describe = async () => JSON.stringify(await stage.deliveries(connectorId));
      await expect.poll(inState, { timeout, interval: 25, message: await describe() }).toHaveLength(count);
      return found;
    },

    /** What the connector remembers between deliveries, which isn't part of any response. */
    async memory(connectorId: string): Promise<unknown> {
      return (await db.prisma.connector.findUniqueOrThrow({ where: { id: connectorId } })).memory;
    },

    async close(): Promise<void> {
      await app.stop().finally(async () => {
        await bus.close();
        await db.close();
        await vendors.close();
      });
    },
  };
  return stage;
}
