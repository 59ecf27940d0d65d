import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { countOlderSecrets } from '../../src/secrets/rotate.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { INHERITED } from '../support/inherited.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { GOOD, type Resource } from '../support/resources.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;
const N8N = { webhookUrl: 'https://n8n.customer.example/webhook/0c4f5a2e9d0b4a53' };
/** What the traffic stores, encrypted. */
const CELLS = [
  ['Webhook', 'secret'],
  ['Webhook', 'previousSecret'],
  ['Webhook', 'secretCredentials'],
  ['Connector', 'secretConfig'],
  ['Endpoint', 'secretUpstreamHeaders'],
  ['Project', 'secretUpstreamHeaders'],
] as const;

let database: TestDatabase;
let pool: pg.Pool;
let dataDir: string;
let receiver: Receiver;
/** The two processes, and all that still run. */
const processes: TestApp[] = [];
const running = new Set<TestApp>();
/** The requests that each process is handling. */
const open = new Map<TestApp, Set<Promise<unknown>>>();
/** What went wrong in the traffic. */
const problems: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-keys-'));
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([...running].map((app) => app.stop()));
  await receiver?.close();
  await pool?.end();
  await database?.drop();
  if (dataDir) await rm(dataDir, { recursive: true, force: true });
});

/** Starts a process with these SECRET_KEYS in place of another, as behind a load balancer: the other one finishes its requests. */
async function replace(index: number, keys: string): Promise<void> {
  const before = processes[index];
  const app = await startTestApp({ databaseUrl: database.url, dataDir, env: { SECRET_KEYS: keys } });
  running.add(app);
  open.set(app, new Set());
  processes[index] = app;
  if (!before) return;
  await Promise.all(open.get(before)!);
  running.delete(before);
  await before.stop();
}

/** Sends a request through the process that is now in this place. */
async function through<T>(index: number, send: (app: TestApp) => Promise<T>): Promise<T> {
  const app = processes[index]!;
  const response = send(app);
  const ended = response.then(
    () => {},
    () => {},
  );
  open.get(app)!.add(ended);
  void ended.then(() => open.get(app)!.delete(ended));
  return response;
}

/** The four steps in docs/operations.md: values of SECRET_KEYS to roll out, and a command for Node. */
async function documentedSteps(): Promise<({ keys: string } | { command: string[] })[]> {
  const page = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const section = page.split('\n## Replacing the secret key\n')[1]!.split('\n## ', 1)[0]!;
  return Array.from(section.matchAll(/`SECRET_KEYS=(\S+?)`|`npm run (\S+?)`/g), ([, keys, command]) =>
    keys
      ? { keys: keys.replace('old:…', OLD).replace('new:…', NEW) }
      : { command: scripts[command!].split(' ').slice(1) },
  );
}

/** Whether a request is signed with this secret. */
function isSignedWith(secret: string, { body, headers }: ReceivedRequest): boolean {
  try {
    new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

test('the four steps of docs/operations.md replace the secret key in two processes under load, without a failed request or delivery', async () => {
  for (const index of [0, 1]) await replace(index, OLD);
  const { token } = await processes[0]!.user('alice', 'ENTERPRISE');

  async function send<T = Resource>(
    index: number,
    method: string,
    path: string,
    body?: object,
    { credential = token, headers = {} }: { credential?: string; headers?: Record<string, string> } = {},
  ): Promise<T> {
    const response = await through(index, (app) => app.caller(credential).rest<T>(method, path, body, headers));
    if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`);
    return response.body;
  }
  async function visit(index: number, path: string, status: number): Promise<void> {
    const response = await through(index, (app) => fetch(`${app.url}/gateway/${project.id}${path}`));
    if (response.status !== status) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
  }

  const upstreamUrl = `${receiver.url}/api`;
  const project = await send(0, 'POST', '/api/projects', {
    ...GOOD.project,
    upstreamHeaders: [{ name: 'X-Project', value: 'of the project', urlPrefix: receiver.url }],
  });
  const base = `/api/projects/${project.id}`;
  const upstreamHeaders = [{ name: 'X-Api-Key', value: 'of the endpoint' }];
  const free = { path: '/free', priceUsd: '0', upstreamUrl, upstreamHeaders };
  await send(0, 'POST', `${base}/endpoints`, free);
  const paid = await send(0, 'POST', `${base}/endpoints`, { ...free, path: '/paid', priceUsd: '0.01' });
  const eventTypes = ['customer.milestone'];
  const connector = await send(0, 'POST', `${base}/connectors`, { type: 'n8n', config: N8N, eventTypes });

  /** The secrets of each webhook, in order, by the path of its URL. The last two may be in use. */
  const secrets = new Map<string, string[]>();
  const webhookIds: string[] = [];
  const apiKeys: string[] = [];
  let priceChanges = 0;
  let rounds = 0;

  receiver.handle((request) => {
    const { path, headers } = request;
    const isRight =
      path === '/api'
        ? headers['x-project'] === 'of the project' && headers['x-api-key'] === 'of the endpoint'
        : secrets.get(path)!.some((secret) => isSignedWith(secret, request)) && headers['x-api-key'] === `of ${path}`;
    if (!isRight) problems.push(`${path} got ${JSON.stringify(headers)}`);
    return {};
  });

  /** Creates a webhook and an API key that later steps use. The webhook gets events only once its secret is known. */
  async function createThrough(index: number): Promise<void> {
    const path = `/hooks/${webhookIds.length}`;
    const headers = [{ name: 'X-Api-Key', value: `of ${path}` }];
    const url = receiver.url + path;
    const { id, secret } = await send<Resource & { secret: string }>(index, 'POST', `${base}/webhooks`, {
      ...{ url, headers, eventTypes },
    });
    secrets.set(path, [secret]);
    webhookIds.push(id);
    await send(index, 'PATCH', `${base}/webhooks/${id}`, { eventTypes: ['endpoint.pricing_changed'] });
    apiKeys.push((await send<{ key: string }>(index, 'POST', `${base}/keys`, GOOD.key)).key);
  }

  /** Writes and reads each kind of secret: what one process writes, the other one reads. */
  async function round(): Promise<void> {
    const [here, there] = rounds % 2 === 0 ? [0, 1] : [1, 0];
    const note = `round-${rounds}`;
    const work = [
      async () => {
        const path = `${base}/webhooks/${webhookIds[0]}`;
        const rotated = await send<{ secret: string }>(here, 'POST', `${path}/rotate-secret`, {});
        secrets.get('/hooks/0')!.push(rotated.secret);
        const headers = [{ name: 'X-Api-Key', value: 'of /hooks/0' }];
        await send(there, 'PATCH', path, { headers, authentication: { type: 'BEARER', token: note } });
      },
      async () => {
        const changes = {
          priceUsd: rounds % 2 === 0 ? '0.02' : '0.03',
          upstreamHeaders: [{ name: 'X-Round', value: note }],
        };
        await send(here, 'PATCH', `${base}/endpoints/${paid.id}`, changes);
        priceChanges += 1;
        await visit(there, '/paid', 402);
      },
      async () => {
        const path = `${base}/connectors/${connector.id}`;
        const changed = await send(here, 'PATCH', path, { config: { ...N8N, authHeaderValue: note } });
        // The masked values stand for the stored ones.
        await send(there, 'PATCH', path, { config: changed.config as object });
      },
      async () => {
        const again = { headers: { 'idempotency-key': note } };
        const created = await send<{ id: string; key: string }>(here, 'POST', `${base}/keys`, GOOD.key, again);
        const repeated = await send<{ id: string; key: string }>(there, 'POST', `${base}/keys`, GOOD.key, again);
        if (repeated.key !== created.key) throw new Error('a repeated request got another response');
        await send(there, 'GET', base, undefined, { credential: created.key });
        await send(here, 'DELETE', `${base}/keys/${created.id}`);
      },
    ];
    for (const result of await Promise.allSettled(work.map((run) => run()))) {
      if (result.status === 'rejected') problems.push(`${note}: ${(result.reason as Error).message}`);
    }
    rounds += 1;
  }

  /** Expects that requests go well through both processes, with everything that was created through either of them. */
  async function expectToWork(): Promise<void> {
    for (const index of [0, 1]) {
      for (const credential of apiKeys) await send(index, 'GET', base, undefined, { credential });
      await visit(index, '/free', 200);
    }
    const before = rounds;
    await expect.poll(() => rounds).toBeGreaterThan(before + 2);
    expect(problems).toEqual([]);
  }

  await createThrough(0);
  let isOver = false;
  const traffic = (async () => {
    while (!isOver) await round();
  })();
  const steps = await documentedSteps();
  expect(steps.map((step) => 'keys' in step)).toEqual([true, true, false, true]);
  let env: Record<string, string> = {};
  try {
    for (const step of steps) {
      if ('command' in step) {
        // Every API key is used, so that it moves to the new secret key.
        await expectToWork();
        const rotate = async () => {
          const { stdout } = await promisify(execFile)(process.execPath, step.command, { cwd: ROOT, env });
          return JSON.parse(stdout) as object;
        };
        await expect.poll(rotate).toMatchObject({ currentKey: 'new', remaining: 0, apiKeysUnderOlderKeys: 0 });
        continue;
      }
      env = { ...INHERITED, DATABASE_URL: database.url, SECRET_KEYS: step.keys };
      await replace(0, step.keys);
      // While the settings differ, each process can read what the other one writes.
      await createThrough(0);
      await expectToWork();
      await replace(1, step.keys);
    }
    await expectToWork();
  } finally {
    isOver = true;
    await traffic;
  }

  // The last event is signed with the current secrets.
  await send(0, 'PATCH', `${base}/endpoints/${paid.id}`, { priceUsd: '0.04' });
  priceChanges += 1;
  const eventsOf = (path: string) => receiver.requests.filter((request) => request.path === path);
  await expect
    .poll(() => new Set(eventsOf('/hooks/0').map(({ headers }) => headers['webhook-id'])).size)
    .toBe(priceChanges);
  for (const [path, known] of secrets) {
    await expect.poll(() => eventsOf(path).some((request) => isSignedWith(known.at(-1)!, request))).toBe(true);
  }
  await expect
    .poll(async () => (await pool.query('SELECT DISTINCT status, "attemptCount" FROM "Delivery"')).rows)
    .toEqual([{ status: 'SUCCEEDED', attemptCount: 1 }]);
  expect(problems).toEqual([]);

  // Nothing is left under the old key, and the new one opens everything.
  const keyring = parseKeyring(NEW);
  expect(await countOlderSecrets({ pool }, keyring)).toEqual({ rotatable: 0, lost: 0, apiKeys: 0 });
  const secretBox = createSecretBox(keyring);
  for (const [table, column] of CELLS) {
    const { rows } = await pool.query<{ id: string; sealed: string }>(
      `SELECT id, "${column}" AS sealed FROM "${table}" WHERE "${column}" <> ''`,
    );
    expect(rows, `${table}.${column}`).not.toEqual([]);
    for (const { id, sealed } of rows) secretBox.open(sealed, { table, column, rowId: id, projectId: project.id });
  }
});
