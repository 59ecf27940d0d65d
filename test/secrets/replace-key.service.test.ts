import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { INHERITED } from '../support/inherited.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;
const SCRIPT = resolve(import.meta.dirname, '../../scripts/rotate-secrets.ts');

let database: TestDatabase;
let dataDir: string;
let receiver: Receiver;
const running = new Set<TestApp>();

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-keys-'));
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([...running].map((app) => app.stop()));
  await receiver?.close();
  await database?.drop();
  if (dataDir) await rm(dataDir, { recursive: true, force: true });
});

/** Starts a process with these SECRET_KEYS, and stops the one that it replaces. */
async function start(keys: string, inPlaceOf?: TestApp): Promise<TestApp> {
  const app = await startTestApp({ databaseUrl: database.url, dataDir, env: { SECRET_KEYS: keys } });
  running.add(app);
  if (inPlaceOf) {
    running.delete(inPlaceOf);
    await inPlaceOf.stop();
  }
  return app;
}

/** Expects that API keys and webhooks created with any key work in a process. */
async function expectToWork(app: TestApp, { base, keys, secrets }: Made, user: TestUser): Promise<void> {
  for (const key of keys) expect((await app.caller(key).rest('GET', base)).status).toBe(200);
  receiver.requests.length = 0;
  await createEndpoint(app.caller(user.token), base);
  const requests = await receiver.waitFor(secrets.length);
  const isSignedWith = (secret: string) =>
    requests.some(({ body, headers }) => {
      try {
        return new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
      } catch {
        return false;
      }
    });
  expect(secrets.map(isSignedWith)).toEqual(secrets.map(() => true));
}

type Made = { base: string; keys: string[]; secrets: string[] };

test('the four steps of docs/operations.md replace the secret key in two processes without interruption', async () => {
  let [first, second] = [await start(OLD), await start(OLD)];
  const user = await first.user('alice');
  const { base } = await createProject(user);
  const made: Made = { base, keys: [], secrets: [] };
  const makeMore = async (app: TestApp) => {
    const caller = app.caller(user.token);
    made.secrets.push((await createWebhook(caller, base, { url: receiver.url })).secret);
    made.keys.push((await createKey(caller, base)).key);
  };
  await makeMore(first);

  for (const keys of [`${OLD},${NEW}`, `${NEW},${OLD}`]) {
    first = await start(keys, first);
    // With different settings, each process can read what the other one writes.
    await makeMore(first);
    await expectToWork(second, made, user);
    await expectToWork(first, made, user);
    second = await start(keys, second);
  }

  const env = { ...INHERITED, DATABASE_URL: database.url, SECRET_KEYS: `${NEW},${OLD}` };
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT], { env });
  expect(JSON.parse(stdout)).toMatchObject({ currentKey: 'new', remaining: 0, apiKeysUnderOlderKeys: 0 });
  first = await start(NEW, first);
  await expectToWork(second, made, user);
  second = await start(NEW, second);
  await expectToWork(first, made, user);
});
