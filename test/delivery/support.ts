import { randomBytes } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import { openBus } from '../../src/bus/bus.ts';
import type { ConnectorDefinition } from '../../src/connectors/definition.ts';
import type { DeliverySettings } from '../../src/delivery/delivery-settings.ts';
import { newWebhookSecret } from '../../src/delivery/send/signing.ts';
import { createDeliveryWorker, type DeliveryWorker } from '../../src/delivery/worker.ts';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createEgress } from '../../src/egress/egress.ts';
import { newId } from '../../src/ids.ts';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { createTestDatabase } from '../support/database.ts';
import { pace } from '../support/pace.ts';

/** A retry schedule with no long waits and no quick retries. */
export const FAST: Partial<DeliverySettings> = {
  retryScheduleSeconds: [0.05, 0.05, 0.05],
  quickRetries: { maxRetries: 0, maxDurationMilliseconds: 1_000, maxRetryAfterSeconds: 2, minDelayMilliseconds: 1 },
  pollMilliseconds: 100,
};

type FindConnector = (type: string) => ConnectorDefinition | undefined;
export type Row = Record<string, unknown>;
type LogLine = Record<string, unknown> & { msg: string; level: number };

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Opens a database with one project, and the real bus, egress, and secrets that workers use. */
export async function openStage() {
  const database = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 10 });
  pool.on('error', () => {});

  const lines: LogLine[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const bus = await openBus({ url: database.url, pool, log });
  const secretBox = createSecretBox(parseKeyring(`k1:${randomBytes(32).toString('base64')}`));
  const egress = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log });
  const workers = new Set<DeliveryWorker>();
  const ownProjectId = await addProject();

  /** Adds a project owned by a new account. */
  async function addProject(): Promise<string> {
    const userId = newId('User');
    await insert(pool, 'User', { id: userId, issuer: 'https://id.example', subject: userId });
    const id = newId('Project');
    await insert(pool, 'Project', { id, userId, name: 'Weather', walletAddress: '0x0' });
    return id;
  }

  async function one(sql: string, values: unknown[]): Promise<Row> {
    const result = await pool.query<Row>(sql, values);
    if (!result.rows[0]) throw new Error('There is no such row.');
    return result.rows[0];
  }

  const stage = {
    url: database.url,
    pool,
    bus,
    log,
    lines,
    secretBox,
    egress,
    projectId: ownProjectId,

    startWorker(
      settings: Partial<DeliverySettings> = {},
      extra: { connectors?: ConnectorDefinition[]; findConnector?: FindConnector; pool?: pg.Pool } = {},
    ): DeliveryWorker {
      const worker = createDeliveryWorker({
        db: { pool: extra.pool ?? pool },
        egress,
        secretBox,
        log,
        bus,
        connectors: extra.findConnector ?? ((type) => extra.connectors?.find((definition) => definition.type === type)),
        settings: { version: '1.2.3', ...FAST, ...settings },
      });
      worker.start();
      workers.add(worker);
      return worker;
    },

    addProject,

    async addWebhook(
      url: string,
      { projectId = ownProjectId, ...values }: Row & { projectId?: string } = {},
    ): Promise<{ id: string; secret: string }> {
      const id = newId('Webhook');
      const secret = newWebhookSecret();
      const sealed = secretBox.seal(secret, { table: 'Webhook', column: 'secret', rowId: id, projectId });
      const { origin } = new URL(url);
      await insert(pool, 'Webhook', { id, projectId, url, origin, eventTypes: ['*'], secret: sealed, ...values });
      return { id, secret };
    },

    async addConnector(
      type: string,
      config: Row,
      { projectId = ownProjectId, ...values }: Row & { projectId?: string } = {},
    ): Promise<string> {
      const id = newId('Connector');
      const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
      const secretConfig = secretBox.seal(JSON.stringify(config), cell);
      await insert(pool, 'Connector', { id, projectId, type, config: {}, eventTypes: ['*'], secretConfig, ...values });
      return id;
    },

    async addEvent(values: Row = {}): Promise<string> {
      const id = newId('Event');
      const data = {
        endpointId: 'ep_1',
        path: '/now',
        upstreamUrl: 'https://up.example',
        priceUsd: '0.01',
        description: null,
      };
      await insert(pool, 'Event', { id, projectId: ownProjectId, type: 'endpoint.created', data, ...values });
      return id;
    },

    /** Queues an event for a webhook or connector. Creates the event unless `values.eventId` is set. */
    async addDelivery(destinationId: string, values: Row = {}, eventValues: Row = {}): Promise<string> {
      const id = newId('Delivery');
      const { projectId = ownProjectId } = values;
      const eventId = values.eventId ?? (await stage.addEvent({ projectId, ...eventValues }));
      const destination = destinationId.startsWith('wh_')
        ? { webhookId: destinationId }
        : { connectorId: destinationId };
      await insert(pool, 'Delivery', {
        id,
        projectId,
        eventId,
        eventType: 'endpoint.created',
        ...destination,
        ...values,
      });
      return id;
    },

    async addDeliveries(destinationId: string, count: number, values: Row = {}): Promise<string[]> {
      return Promise.all(Array.from({ length: count }, () => stage.addDelivery(destinationId, values)));
    },

    delivery: (id: string) => one(`SELECT * FROM "Delivery" WHERE "id" = $1`, [id]),
    webhook: (id: string) => one(`SELECT * FROM "Webhook" WHERE "id" = $1`, [id]),
    connector: (id: string) => one(`SELECT * FROM "Connector" WHERE "id" = $1`, [id]),

    async attempts(deliveryId: string): Promise<Row[]> {
      const result = await pool.query(`SELECT * FROM "Attempt" WHERE "deliveryId" = $1 ORDER BY "number"`, [
        deliveryId,
      ]);
      return result.rows;
    },

    async countBy(status: string): Promise<number> {
      return (await one(`SELECT count(*)::int AS n FROM "Delivery" WHERE "status" = $1::"DeliveryStatus"`, [status]))
        .n as number;
    },

    /** Waits until the delivery has that status, and returns it. */
    async deliveryIs(id: string, status: string): Promise<Row> {
      await until(
        async () => (await stage.delivery(id)).status === status,
        () => `delivery ${id} to be ${status}`,
      );
      return stage.delivery(id);
    },

    async close(): Promise<void> {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await bus.close();
      await egress.close();
      await pool.end();
      await database.drop();
    },
  };
  return stage;
}

/** Waits until the condition holds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  describe: () => string = () => 'a condition',
  timeoutMilliseconds = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMilliseconds} ms for ${describe()}.`);
    await pace(5);
  }
}

async function insert(pool: pg.Pool, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row).map((column) => `"${column}"`);
  const places = columns.map((_, index) => `$${index + 1}`);
  await pool.query(`INSERT INTO "${table}" (${columns}) VALUES (${places})`, Object.values(row));
}
