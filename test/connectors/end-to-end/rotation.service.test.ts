import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { INHERITED } from '../../support/inherited.ts';
import { NODE } from '../../support/programs.ts';
import { sampleConfig } from '../support/configs.ts';
import { type Connector, openStage, type Stage } from './stage.ts';

/** Half of the rows are webhooks, and half are connectors. */
const ROWS = 10_000;
/** A webhook has two secrets while its signing secret is being replaced. */
const CELLS = ROWS * 1.5;
const SENDING_CONNECTORS = 5;

const SCRIPT = resolve(import.meta.dirname, '../../../scripts/rotate-secrets.ts');
const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;
const before = createSecretBox(parseKeyring(OLD));
const after = createSecretBox(parseKeyring(NEW));

let database: TestDatabase;
let stage: Stage;
let mark: string;

beforeAll(async () => {
  database = await createTestDatabase();
  stage = await openStage({}, { databaseUrl: database.url, env: { SECRET_KEYS: `${NEW},${OLD}` } });
  mark = stage.newMark();
  await addRowsUnderOldKey();
});
afterAll(async () => {
  await stage?.close();
  await database?.drop();
});

async function addRowsUnderOldKey(): Promise<void> {
  const { projectId } = stage;
  const webhooks = Array.from({ length: ROWS / 2 }, () => {
    const id = newId('Webhook');
    const seal = (column: string) =>
      before.seal(`${column} of ${id}`, { table: 'Webhook', column, rowId: id, projectId });
    return {
      id,
      projectId,
      url: 'https://receiver.example',
      eventTypes: ['customer.milestone'],
      secret: seal('secret'),
      previousSecret: seal('previousSecret'),
    };
  });
  const connectors = Array.from({ length: ROWS / 2 }, (_, index) => {
    const id = newId('Connector');
    const config = sampleConfig('zapier', 'required', mark);
    const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
    return {
      id,
      projectId,
      type: 'zapier',
      config: { webhookUrl: '••••' },
      eventTypes: [index < SENDING_CONNECTORS ? 'payment.settled' : 'customer.milestone'],
      secretConfig: before.seal(JSON.stringify(config), cell),
    };
  });
  await stage.db.prisma.webhook.createMany({ data: webhooks });
  await stage.db.prisma.connector.createMany({ data: connectors });
}

type Report = { rotated: number; remaining: number; unreadable: unknown[]; currentKey: string };
type Progress = { msg: string; table: string; column: string; rotated: number; unreadable: number };

/** Runs the command as an operator would. `onProgress` can kill it. */
function runCommand(onProgress: (progress: Progress, kill: () => void) => void = () => {}) {
  const env = { ...INHERITED, DATABASE_URL: database.url, SECRET_KEYS: `${NEW},${OLD}` };
  const child = spawn(NODE, [SCRIPT], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const progress: Progress[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    const parsed: Progress = JSON.parse(line);
    progress.push(parsed);
    onProgress(parsed, () => child.kill('SIGKILL'));
  });
  const output = text(child.stdout);
  const finished = (async () => {
    const [code, signal] = await once(child, 'close');
    return { code, signal, progress, stdout: await output };
  })();
  return finished;
}

/** Creates and changes connectors and webhooks, rotates signing secrets, and delivers events until `isDone`. */
async function keepBusy(isDone: () => boolean) {
  const { user, base, db } = stage;
  const oldConnectors = await db.prisma.connector.findMany({
    select: { id: true },
    orderBy: { id: 'desc' },
    take: 200,
  });
  const oldWebhooks = await db.prisma.webhook.findMany({ select: { id: true }, orderBy: { id: 'desc' }, take: 200 });
  const statuses: number[] = [];
  const secrets = new Map<string, string>();
  let events = 0;
  while (!isDone() || events < 20) {
    const connector = oldConnectors[events % oldConnectors.length]!.id;
    const webhook = oldWebhooks[events % oldWebhooks.length]!.id;
    const eventTypes = ['customer.milestone'];
    const body = { type: 'zapier', config: sampleConfig('zapier', 'required', mark), eventTypes };
    const created = await user.rest<Connector>('POST', `${base}/connectors`, body);
    const hook = await user.rest<{ id: string; secret: string }>('POST', `${base}/webhooks`, {
      url: 'https://receiver.example',
      eventTypes,
    });
    const changed = await user.rest('PATCH', `${base}/connectors/${connector}`, { config: body.config });
    const rotated = await user.rest<{ secret: string }>('POST', `${base}/webhooks/${webhook}/rotate-secret`, {});
    secrets.set(hook.body.id, hook.body.secret).set(webhook, rotated.body.secret);
    statuses.push(created.status, hook.status, changed.status, rotated.status);
    await stage.record('payment.settled', { paymentId: `pay_${events++}` });
  }
  return { statuses, secrets, events };
}

test(`${ROWS} rows get a new key under load even if the command is killed halfway through`, async () => {
  let isDone = false;
  const traffic = keepBusy(() => isDone);

  const killed = await runCommand((progress, kill) => {
    if (progress.rotated >= CELLS / 3) kill();
  });
  expect(killed.signal).toBe('SIGKILL');
  const doneBefore = killed.progress.at(-1)!.rotated;
  expect(doneBefore).toBeGreaterThanOrEqual(CELLS / 3);
  expect(doneBefore).toBeLessThan(CELLS);
  // It reported its progress along the way.
  expect(killed.progress.length).toBeGreaterThan(2);
  expect(killed.progress.map(({ rotated }) => rotated)).toEqual(
    killed.progress.map(({ rotated }) => rotated).toSorted((a, b) => a - b),
  );
  expect(await countUnder('old')).toBeGreaterThan(0);

  const resumed = await runCommand();
  isDone = true;
  const { statuses, secrets, events } = await traffic;
  expect({ code: resumed.code, ...(JSON.parse(resumed.stdout) as Report) }).toMatchObject({
    code: 0,
    currentKey: 'new',
    remaining: 0,
    unreadable: [],
  });
  // The second run continued where the first one stopped instead of starting over.
  const { rotated } = JSON.parse(resumed.stdout) as Report;
  expect(rotated).toBeGreaterThan(0);
  expect(rotated).toBeLessThanOrEqual(CELLS - doneBefore);
  const places = new Set([...killed.progress, ...resumed.progress].map(({ table, column }) => `${table}.${column}`));
  expect(places).toEqual(new Set(['Webhook.secret', 'Webhook.previousSecret', 'Connector.secretConfig']));

  // Nothing needs the old key, and no concurrent change was overwritten.
  expect(await countUnder('old')).toBe(0);
  for (const row of await stage.db.prisma.webhook.findMany()) {
    const cell = { table: 'Webhook', rowId: row.id, projectId: row.projectId };
    expect(after.open(row.secret, { ...cell, column: 'secret' })).toBe(secrets.get(row.id) ?? `secret of ${row.id}`);
    if (row.previousSecret) after.open(row.previousSecret, { ...cell, column: 'previousSecret' });
  }
  for (const row of await stage.db.prisma.connector.findMany()) {
    const cell = { table: 'Connector', column: 'secretConfig', rowId: row.id, projectId: row.projectId };
    expect(JSON.parse(after.open(row.secretConfig, cell))).toEqual(sampleConfig('zapier', 'required', mark));
  }

  // The rotation didn't affect the service.
  expect(statuses.filter((status) => status >= 300)).toEqual([]);
  const delivered = () =>
    stage.db.prisma.delivery.count({ where: { eventType: 'payment.settled', status: 'SUCCEEDED' } });
  await expect.poll(delivered).toBe(events * SENDING_CONNECTORS);
  expect(await stage.db.prisma.attempt.count({ where: { statusCode: null } })).toBe(0);
  for (const { stdout, progress } of [killed, resumed]) {
    const said = stdout + JSON.stringify(progress);
    for (const secret of [mark, OLD.split(':')[1]!, NEW.split(':')[1]!, ...secrets.values()])
      expect(said).not.toContain(secret);
  }
});

async function countUnder(keyId: string): Promise<number> {
  const prefix = `v1.${keyId}.`;
  const { rows } = await stage.db.pool.query<{ count: number }>(
    `SELECT (
       (SELECT count(*) FROM "Webhook" WHERE starts_with(secret, $1) OR starts_with("previousSecret", $1))
       + (SELECT count(*) FROM "Connector" WHERE starts_with("secretConfig", $1))
     )::int AS count`,
    [prefix],
  );
  return rows[0]!.count;
}
