import { type ChildProcess, fork } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { INHERITED } from '../../support/inherited.ts';
import { openStage, type Stage } from '../support.ts';
import { startOauthProvider } from './oauth-provider.ts';
import type { DeathStep, ProcessSetup, Round, SimulatedConnector } from './token-process.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PROCESSES = 3;
const TYPES = ['quickbooks', 'xero', 'google-sheets'] as const;
const HOURS = 72;
/** Every five minutes, each connector gets an event for each of those minutes. */
const STEP_SECONDS = 300;
const EVENTS_PER_STEP = 5;
const STEPS = (HOURS * 3_600) / STEP_SECONDS;
/** How long to wait before sending events again that didn't arrive. */
const RETRY_SECONDS = 10;
/** The lease of a process that died lasts for a minute. The rest is time that the test itself takes. */
const LONGEST_DELAY_SECONDS = 120;

type Type = (typeof TYPES)[number];
type Death = { type: Type; at: DeathStep | 'after the request'; isTokenValid: boolean };

/** A process is killed in each of these steps, both with and without a valid token in the other processes. */
const DEATH_STEPS = [
  'before the request',
  'after the request',
  'after the response',
  'after the token is stored',
] as const;
const DEATHS: Death[] = DEATH_STEPS.flatMap((at) =>
  TYPES.flatMap((type) => [true, false].map((isTokenValid) => ({ type, at, isTokenValid }))),
);
/** In these steps, the vendor has issued a token that no process has stored. */
const isLost = ({ at }: Death) => at === 'after the request' || at === 'after the response';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SERVICE_ACCOUNT = { email: 'tollgate@shop.iam.gserviceaccount.com', publicKey };
const CLIENT = { clientId: 'client', clientSecret: 'secret-0123456789' };
const CONFIGS: Record<Type, Record<string, string>> = {
  quickbooks: { ...CLIENT, refreshToken: 'first-of-quickbooks', realmId: '9130355377388383' },
  xero: { ...CLIENT, refreshToken: 'first-of-xero', tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056' },
  'google-sheets': {
    spreadsheetId: '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms',
    serviceAccountKey: JSON.stringify({
      type: 'service_account',
      client_email: SERVICE_ACCOUNT.email,
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }),
  },
};

let stage: Stage;
let provider: Awaited<ReturnType<typeof startOauthProvider>>;
let setup: Omit<ProcessSetup, 'name'>;
const connectors = new Map<Type, SimulatedConnector>();
/** The processes that are ready. */
const running = new Map<string, ChildProcess>();
const starting = new Set<Promise<void>>();
let started = 0;
let aheadSeconds = 0;
/** The next planned kill, and the kills so far. */
let next: Death | undefined;
const died: Death[] = [];
const dead = new Set<string>();

const now = () => Date.now() / 1000 + aheadSeconds;

/** Moves the clocks of the database, as the processes see it, and of the vendors. */
async function advance(seconds: number): Promise<void> {
  aheadSeconds += seconds;
  await stage.pool.query('UPDATE "simulated"."time" SET "ahead" = make_interval(secs => $1)', [aheadSeconds]);
}

/** `now()` in the processes' statements is this function, because their search path begins with its schema. */
const SIMULATED_CLOCK = `
  CREATE SCHEMA "simulated";
  CREATE TABLE "simulated"."time" ("ahead" interval NOT NULL);
  INSERT INTO "simulated"."time" VALUES ('0');
  CREATE FUNCTION "simulated".now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT pg_catalog.now() + (SELECT "ahead" FROM "simulated"."time") $$`;

beforeAll(async () => {
  stage = await openStage();
  await stage.pool.query(SIMULATED_CLOCK);
  const databaseUrl = new URL(stage.url);
  databaseUrl.searchParams.set('options', '-c search_path=simulated,pg_catalog,public');
  provider = await startOauthProvider({ now, serviceAccount: SERVICE_ACCOUNT, onTokenRequest: mayKill });
  for (const type of TYPES) {
    const id = await stage.addConnector(type, {});
    connectors.set(type, { id, projectId: stage.projectId, type, config: CONFIGS[type] });
    if (CONFIGS[type].refreshToken) provider.connect(type, CONFIGS[type].refreshToken);
  }
  setup = {
    databaseUrl: databaseUrl.href,
    secretKeys: `k1:${randomBytes(32).toString('base64')}`,
    providerUrl: provider.url,
    hostOverrides: provider.hostOverrides,
    connectors: [...connectors.values()],
  };
  for (let index = 0; index < PROCESSES; index++) start();
  await Promise.all(starting);
});
afterAll(async () => {
  next = undefined;
  await Promise.all(starting);
  await Promise.all([...running.values()].map((child) => kill(child)));
  await provider?.close();
  await stage?.close();
});

function start(): void {
  const name = `worker-${++started}`;
  const child = fork(join(import.meta.dirname, 'token-process.ts'), [JSON.stringify({ ...setup, name })], {
    execPath: join(ROOT, 'node_modules/.bin/node'),
    execArgv: [],
    env: INHERITED,
  });
  const isReady = Promise.race([once(child, 'message'), once(child, 'exit').then(() => undefined)]).then((message) => {
    if (!message) throw new Error(`${name} couldn't start.`);
    starting.delete(isReady);
    running.set(name, child);
  });
  starting.add(isReady);
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Kills the process that is waiting for a token, if that is the next planned kill. */
async function mayKill(type: Type, name: string): Promise<void> {
  if (next?.at === 'after the request' && next.type === type) await kill(running.get(name)!);
}

/** Makes a process handle these events. A process that dies is replaced. */
async function run(name: string, child: ChildProcess, round: Round): Promise<void> {
  const done = Promise.withResolvers<'done' | 'died'>();
  const onMessage = ({ error }: { error?: string }) =>
    error === undefined ? done.resolve('done') : done.reject(new Error(`${name}: ${error}`));
  const onExit = () => done.resolve('died');
  child.once('message', onMessage).once('exit', onExit);
  child.send(round, () => {});
  const result = await done.promise;
  child.off('message', onMessage).off('exit', onExit);
  if (result === 'done') return;
  if (!next) throw new Error(`${name} died.`);
  died.push(next);
  dead.add(name);
  next = undefined;
  running.delete(name);
  start();
}

/** Spreads the events over the processes, which handle them at the same time. */
async function handle(events: Round['events'], turn: number): Promise<void> {
  const processes = [...running];
  const at = next?.at;
  const death =
    next && at !== undefined && at !== 'after the request'
      ? { connectorId: connectors.get(next.type)!.id, at }
      : undefined;
  await Promise.all(
    processes.map(([name, child], index) => {
      const own = events.filter((_, position) => (position + turn) % processes.length === index);
      return own.length > 0 && run(name, child, { events: own, ...(death && { death }) });
    }),
  );
}

test('three processes keep tokens working for 72 hours even though they are killed at every step', async () => {
  const recordedAt = new Map<string, number>();
  let waiting: Round['events'] = [];
  const toCome = [...DEATHS];
  const stepsPerDeath = Math.floor(STEPS / (DEATHS.length + 1));

  for (let step = 1; step <= STEPS; step++) {
    const startsAt = step * STEP_SECONDS;
    await advance(startsAt - aheadSeconds);
    const events = [...connectors.values()].flatMap(({ id, type }) =>
      Array.from({ length: EVENTS_PER_STEP }, (_, index) => ({ id: `${type}-${step}-${index}`, connectorId: id })),
    );
    for (const { id } of events) recordedAt.set(id, now());
    if (step % stepsPerDeath === 0 && toCome.length > 0) {
      expect(next, 'the planned kill that has not happened').toBeUndefined();
      await Promise.all(starting);
      next = toCome.shift();
      if (!next?.isTokenValid) provider.endAccessTokens(next!.type);
    }
    for (let round = 0; ; round++) {
      waiting = [...waiting, ...(round === 0 ? events : [])];
      await handle(waiting, step + round);
      waiting = waiting.filter(({ id }) => !provider.arrivals.has(id));
      const ended = TYPES.filter((type) => provider.grant(type).isEnded);
      expect(ended, 'rejected because an old refresh token was used').toEqual([]);
      for (const { id } of waiting) expect(now() - recordedAt.get(id)!, id).toBeLessThan(LONGEST_DELAY_SECONDS);
      if (waiting.length === 0 || aheadSeconds + RETRY_SECONDS >= startsAt + STEP_SECONDS) break;
      await advance(RETRY_SECONDS);
    }
  }

  expect(died).toEqual(DEATHS);
  expect(waiting).toEqual([]);
  expect(provider.arrivals.size).toBe(HOURS * 60 * TYPES.length);
  const delays = [...recordedAt].map(([id, at]) => provider.arrivals.get(id)! - at);
  expect(Math.max(...delays)).toBeLessThan(LONGEST_DELAY_SECONDS);

  const { rows } = await stage.pool.query('SELECT * FROM "ConnectorToken"');
  for (const [type, { id }] of connectors) {
    const { issued, repeated, wasted, mostInFlight, isEnded, lifetimeSeconds } = provider.grant(type);
    const { generation, leaseUntil, expiresAt } = rows.find((row) => row.id === id);
    expect({ isEnded, mostInFlight, leaseUntil }, type).toEqual({ isEnded: false, mostInFlight: 1, leaseUntil: null });
    // Every token was stored and used, except for tokens of processes that died first. Such a process may have been
    // getting several tokens.
    const ofDead = wasted.filter((name) => dead.has(name));
    expect(wasted, type).toEqual(ofDead);
    expect(issued - generation, type).toBe(wasted.length);
    expect(wasted.length, type).toBeGreaterThanOrEqual(
      DEATHS.filter((death) => death.type === type && isLost(death)).length,
    );
    // A refresh token was used again only if the access token that it was exchanged for was lost.
    expect(repeated, type).toBe(type === 'google-sheets' ? 0 : wasted.length);
    // Each token is used until five minutes before it expires, unless the vendor revokes it sooner.
    const early = DEATHS.filter((death) => death.type === type && !death.isTokenValid).length;
    expect(generation, type).toBeLessThanOrEqual(Math.ceil((HOURS * 3_600) / (lifetimeSeconds - 300)) + early);
    expect(expiresAt.getTime()).toBeGreaterThan(Date.now() + (HOURS - 1) * 3_600_000);
  }
});
