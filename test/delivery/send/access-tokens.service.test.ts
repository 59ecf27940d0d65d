import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { OauthApps } from '../../../src/config/oauth-apps.ts';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import { choiceField, secretField, textField } from '../../../src/connectors/fields.ts';
import { requireCredential } from '../../../src/connectors/shared/credential-rule.ts';
import {
  clientFields,
  grantField,
  oauthClient,
  refreshTokenField,
} from '../../../src/connectors/shared/oauth-client.ts';
import { findConnector } from '../../../src/connectors/types/registry.ts';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { marked } from '../../../src/database/tenant-filter.ts';
import { createWithToken, type NotReady, type WithToken } from '../../../src/delivery/send/access-tokens.ts';
import { createConnectorProbe } from '../../../src/delivery/send/probe-connector.ts';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress, type Egress } from '../../../src/egress/egress.ts';
import { changesCredential, forgetToken } from '../../../src/features/connectors/forget-token.ts';
import { softDeleteConnectors } from '../../../src/features/deletions/soft-delete.ts';
import { startTokenServer, type TokenServer } from '../../connectors/support/token-server.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../support.ts';

let stage: Stage;
let server: TokenServer;
let connector: { id: string; projectId: string };
/** Each of these acts as a separate process. */
let processes: [WithToken, WithToken, WithToken];

const CONFIG = { clientId: 'client', clientSecret: 'secret-0123456789', refreshToken: 'refresh-0123456789' };
const GRANT = { vendor: 'xero', title: 'Test', authorizationUrl: () => 'https://example.com' } as const;
const config = requireCredential(
  z.strictObject({
    accessToken: secretField({ title: 'Token', description: 'A token.' }).optional(),
    ...clientFields,
    refreshToken: refreshTokenField('For tests.'),
    grant: grantField(),
    tenantId: textField({ title: 'Tenant', description: 'Any.' }).optional(),
    site: choiceField(['eu', 'us'], { title: 'Site', description: 'Where.', decidesAddress: true }).optional(),
  }),
  ['clientId', 'clientSecret'],
  ['refreshToken'],
);
const definition = defineConnector<z.infer<typeof config>>({
  type: 'xero',
  title: 'Test',
  category: 'Accounting',
  description: 'For tests.',
  documentationUrl: 'https://example.com',
  config,
  credential: oauthClient({ vendor: 'Test', tokenUrl: () => server.url, advice: 'Connect again.', grant: GRANT }),
  supportsEvent: () => true,
  build: () => ({ skip: 'never' }),
  classify: () => ({ kind: 'delivered' }),
}) as unknown as ConnectorDefinition;

beforeAll(async () => {
  stage = await openStage();
  server = await startTokenServer();
  processes = [start(), start(), start()];
});
afterAll(async () => {
  await server?.close();
  await stage?.close();
});
beforeEach(async () => {
  connector = { id: await stage.addConnector('xero', CONFIG), projectId: stage.projectId };
  server.connect(CONFIG.refreshToken);
  server.grants.length = 0;
});

function start(egress: Pick<Stage['egress'], 'send'> = stage.egress, oauthApps: OauthApps = {}): WithToken {
  const { pool, secretBox } = stage;
  return createWithToken({ pool, egressOf: () => egress, secretBox, userAgent: 'Tollgate/1.2.3', oauthApps });
}

type Used = { token: string; isUnauthorized: boolean };

/** Uses the current token, the way an API that checks tokens would. */
function use(withToken: WithToken, values: Record<string, unknown> = CONFIG): Promise<Used | NotReady> {
  return withToken(connector, definition, values, async ({ config: { accessToken } }) => {
    await setImmediate();
    return { token: String(accessToken), isUnauthorized: !server.accepts(String(accessToken)) };
  });
}

async function row() {
  const { rows } = await stage.pool.query('SELECT * FROM "ConnectorToken" WHERE "id" = $1', [connector.id]);
  return rows[0];
}
/** Moves the time forward for a token that was issued an hour ago. */
const expireIn = (seconds: number) =>
  stage.pool.query(
    `UPDATE "ConnectorToken" SET "issuedAt" = now() - interval '1 hour', "expiresAt" = now() + make_interval(secs => $2)
     WHERE "id" = $1`,
    [connector.id, seconds],
  );
/**
 * Ends a lease as if a minute had passed since it was taken. A lease is known by the millisecond in which it ends, so the
 * next one may only be taken in a later millisecond, as it always is when leases run out on their own.
 */
async function endLease(): Promise<void> {
  await stage.pool.query(`UPDATE "ConnectorToken" SET "leaseUntil" = now() - interval '1 second' WHERE "id" = $1`, [
    connector.id,
  ]);
  await stage.pool.query('SELECT pg_sleep(0.002)');
}

/** Changes the config the way the connector service does. */
async function change(db: Database, after: Record<string, unknown>): Promise<void> {
  if (!changesCredential(definition, CONFIG, after)) return;
  await db.prisma.$transaction((tx) => forgetToken(tx, connector.id));
}

describe('an access token', () => {
  test('is requested once for all processes, and used until five minutes before it expires', async () => {
    const first = await Promise.all(Array.from({ length: 30 }, (_, index) => use(processes[index % 3]!)));
    // While one process was getting the token, the other processes had to wait.
    for (const result of first)
      expect(result).toMatchObject('kind' in result ? { kind: 'wait' } : { token: /^token-/ });
    const again = await Promise.all(Array.from({ length: 30 }, (_, index) => use(processes[index % 3]!)));
    expect(new Set(again.map((result) => 'token' in result && result.token)).size).toBe(1);
    expect(server.grants).toHaveLength(1);

    await expireIn(301);
    expect(await use(processes[0])).toEqual(again[0]);
    expect(server.grants).toHaveLength(1);
    await expireIn(299);
    expect(await use(processes[0])).not.toEqual(again[0]);
    expect(server.grants).toHaveLength(2);
  });

  test('is used while it is valid, even if another process is getting the next one', async () => {
    const old = await use(processes[0]);
    await expireIn(200);
    const asked = Promise.withResolvers<void>();
    const answering = Promise.withResolvers<void>();
    const slow = start({
      async send(request) {
        asked.resolve();
        await answering.promise;
        return stage.egress.send(request);
      },
    });
    const renewing = use(slow);
    await asked.promise;
    expect(await use(processes[1])).toEqual(old);
    answering.resolve();
    const renewed = await renewing;
    expect(renewed).not.toEqual(old);
    expect(await use(processes[1])).toEqual(renewed);
  });

  test('is stored with its refresh token before it is used, and only in sealed form', async () => {
    let stored: Record<string, unknown> | undefined;
    let token = '';
    await processes[0](connector, definition, CONFIG, async ({ config: { accessToken }, secrets }) => {
      stored = await row();
      token = String(accessToken);
      expect(secrets).toEqual(expect.arrayContaining([token, CONFIG.clientSecret, CONFIG.refreshToken]));
      return { isUnauthorized: false };
    });
    const cell = { table: 'ConnectorToken', column: 'sealed', rowId: connector.id, projectId: connector.projectId };
    const opened = JSON.parse(stage.secretBox.open(String(stored!.sealed), cell));
    expect(opened).toEqual({ accessToken: token, refreshToken: expect.stringMatching(/^refresh-/) });
    expect(JSON.stringify(stored)).not.toContain(token);
    expect(stored).toMatchObject({ generation: 1, leaseUntil: null });
  });

  test('is replaced once if the vendor rejects it', async () => {
    const first = (await use(processes[0])) as Used;
    server.expireAll();
    const second = (await use(processes[1])) as Used;
    expect(second).toMatchObject({ isUnauthorized: false });
    expect(second.token).not.toBe(first.token);
    expect(server.grants).toHaveLength(2);

    // An API that rejects every token gets two requests, not an endless number.
    let requests = 0;
    const result = await processes[0](connector, definition, CONFIG, async () => {
      requests++;
      return { isUnauthorized: true };
    });
    expect(result).toEqual({ isUnauthorized: true });
    expect(requests).toBe(2);
    expect(server.grants).toHaveLength(3);
  });

  test('is not needed for a config without a longer-lived credential', async () => {
    const values = { accessToken: 'given-0123456789' };
    expect(await use(processes[0], values)).toEqual({ token: 'given-0123456789', isUnauthorized: true });
    expect(server.grants).toEqual([]);
    expect(await row()).toBeUndefined();
  });
});

describe('a refresh token', () => {
  test('is used from then on if it replaces the previous one', async () => {
    for (let round = 0; round < 5; round++) {
      expect(await use(processes[round % 3]!)).toMatchObject({ isUnauthorized: false });
      await expireIn(0);
    }
    const given = server.grants.map(({ parameters }) => parameters.get('refresh_token'));
    expect(given[0]).toBe(CONFIG.refreshToken);
    expect(new Set(given).size).toBe(5);
  });

  test('survives a process that dies before it has stored the new one', async () => {
    await use(processes[0]);
    await expireIn(0);
    const answered = Promise.withResolvers<void>();
    const dead = start({
      async send(request) {
        await stage.egress.send(request);
        answered.resolve();
        return new Promise(() => {});
      },
    });
    void use(dead);
    await answered.promise;
    // Until the dead process's lease ends, no other process requests a token.
    expect(await use(processes[1])).toMatchObject({ kind: 'wait' });
    expect(server.grants).toHaveLength(2);
    await endLease();
    expect(await use(processes[1])).toMatchObject({ isUnauthorized: false });
    await expireIn(0);
    expect(await use(processes[2])).toMatchObject({ isUnauthorized: false });
  });

  test('is kept if a process that got an older one resumes after its lease has ended', async () => {
    await use(processes[0]);
    await expireIn(0);
    const stalled = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const slow = start({
      async send(request) {
        const response = await stage.egress.send(request);
        stalled[0].resolve();
        await stalled[1].promise;
        return response;
      },
    });
    const late = use(slow);
    await stalled[0].promise;
    await endLease();
    const successor = start({
      async send(request) {
        const response = await stage.egress.send(request);
        stalled[1].resolve();
        // While another process is getting a token, the late process uses none.
        expect(await late).toMatchObject({ kind: 'wait' });
        return response;
      },
    });
    expect(await use(successor)).toMatchObject({ isUnauthorized: false });
    await expireIn(0);
    expect(await use(processes[1])).toMatchObject({ isUnauthorized: false });
  });

  test('is requested by only one process, even if a slow process fails in the meantime', async () => {
    const late = Promise.withResolvers<never>();
    const asked = Promise.withResolvers<void>();
    const slow = start({
      send() {
        asked.resolve();
        return late.promise;
      },
    });
    const failing = use(slow);
    await asked.promise;
    await endLease();
    const successor = start({
      async send(request) {
        late.reject(new Error('too late'));
        await expect(failing).rejects.toThrow('too late');
        expect(await use(processes[0])).toMatchObject({ kind: 'wait' });
        return stage.egress.send(request);
      },
    });
    expect(await use(successor)).toMatchObject({ isUnauthorized: false });
    expect(server.grants).toHaveLength(1);
  });

  test('is discarded if it was issued for an old credential, even if it arrives after the change', async () => {
    const db = await openDatabase({ url: stage.url, poolSize: 1, log: stage.log });
    const after = { ...CONFIG, refreshToken: 'refresh-of-the-new-credential' };
    let isChanged = false;
    const changing = start({
      async send(request) {
        const response = await stage.egress.send(request);
        if (isChanged) return response;
        isChanged = true;
        await change(db, after);
        server.connect(after.refreshToken);
        return response;
      },
    });
    expect(await use(changing)).toMatchObject({ kind: 'pause' });
    expect(await row()).toMatchObject({ sealed: '', generation: 1 });
    expect(await use(processes[1], after)).toMatchObject({ isUnauthorized: false });
    expect(server.grants.at(-1)!.parameters.get('refresh_token')).toBe(after.refreshToken);
    await db.close();
  });

  test('is not requested by a check that read the credential before it was changed', async () => {
    const { rows } = await stage.pool.query('SELECT * FROM "Connector" WHERE "id" = $1', [connector.id]);
    await stage.pool.query('UPDATE "Connector" SET "secretConfig" = $2 WHERE "id" = $1', [connector.id, 'changed']);
    const check = createConnectorProbe({ egress: stage.egress, withToken: processes[0], userAgent: 'Tollgate/1.2.3' });
    const ask = {
      build: () => ({ method: 'GET', url: server.url, headers: {} }),
      classify: () => ({ ok: true, message: '' }),
    };
    const result = await check(rows[0], { ...definition, probe: ask as ConnectorDefinition['probe'] & object }, CONFIG);
    expect(result).toEqual({ ok: false, message: 'Another check is in progress. Try again.' });
    expect(server.grants).toEqual([]);
  });

  test('survives changes to other fields', async () => {
    const db = await openDatabase({ url: stage.url, poolSize: 1, log: stage.log });
    await use(processes[0]);
    const before = await row();
    const after = { ...CONFIG, tenantId: 'other' };
    await change(db, after);
    expect(await row()).toEqual(before);
    await db.close();
  });

  test('is forgotten if the address that it would be sent to changes', async () => {
    const db = await openDatabase({ url: stage.url, poolSize: 1, log: stage.log });
    await use(processes[0]);
    const after = { ...CONFIG, site: 'us' };
    await change(db, after);
    expect(await row()).toMatchObject({ sealed: '', expiresAt: null, generation: 2 });
    await db.close();
  });

  test('is erased with its connector, and none is stored after that', async () => {
    const db = await openDatabase({ url: stage.url, poolSize: 1, log: stage.log });
    await use(processes[0]);
    await expireIn(0);
    const deleting = start({
      async send(request) {
        const response = await stage.egress.send(request);
        await behindWall(db).prisma.$transaction((tx) => softDeleteConnectors(tx, marked({ id: connector.id })));
        return response;
      },
    });
    expect(await use(deleting)).toMatchObject({ kind: 'wait' });
    expect(await row()).toBeUndefined();
    await db.close();
  });
});

describe('a token endpoint that', () => {
  test('no longer accepts the credential pauses the connector, and the reason says how to connect again', async () => {
    server.revoke();
    expect(await use(processes[0])).toEqual({
      kind: 'pause',
      reason:
        'Test refused to issue an access token (invalid_grant: Token has been expired or revoked.). Connect again.',
    });
    expect(await row()).toMatchObject({ leaseUntil: null, sealed: '' });
  });

  test('fails is called again by the next attempt, which waits for as long as Retry-After says', async () => {
    server.receiver.respondNext({ statusCode: 503, headers: { 'retry-after': '17' } }, { statusCode: 500 });
    const reason = (status: number) => `Test couldn't issue an access token right now (HTTP ${status}).`;
    expect(await use(processes[0])).toEqual({ kind: 'retry', reason: reason(503), afterSeconds: 17 });
    expect(await use(processes[1])).toEqual({ kind: 'retry', reason: reason(500) });
    expect(await use(processes[2])).toMatchObject({ isUnauthorized: false });
  });

  test("can't be reached leaves no lease behind", async () => {
    const broken = start({ send: () => Promise.reject(new Error('no network')) });
    await expect(use(broken)).rejects.toThrow('no network');
    expect(await use(processes[1])).toMatchObject({ isUnauthorized: false });
  });
});

describe('a connected account', () => {
  const GRANTED = { grant: 'refresh-of-the-account' };
  const app = { clientId: 'operator', clientSecret: 'operator-secret-0123456789' };

  test('gets its tokens with the operator’s app, but the seller’s own credential takes precedence', async () => {
    const withApp = start(stage.egress, { xero: app });
    server.connect(GRANTED.grant);
    expect(await use(withApp, GRANTED)).toMatchObject({ isUnauthorized: false });
    expect(server.grants[0]!.parameters.get('refresh_token')).toBe(GRANTED.grant);
    expect(server.grants[0]!.authorization).toBe(`Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}`);

    await stage.pool.query('DELETE FROM "ConnectorToken"');
    server.connect(CONFIG.refreshToken);
    expect(await use(withApp, { ...CONFIG, ...GRANTED })).toMatchObject({ isUnauthorized: false });
    expect(server.grants[1]!.authorization).toBe(`Basic ${btoa(`${CONFIG.clientId}:${CONFIG.clientSecret}`)}`);
  });

  test('pauses the connector if the operator no longer has an app', async () => {
    expect(await use(processes[1], GRANTED)).toEqual({
      kind: 'pause',
      reason: 'This service no longer connects Test accounts. Enter different credentials, or contact the operator.',
    });
    expect(await row()).toMatchObject({ leaseUntil: null });
    expect(server.grants).toEqual([]);
  });

  test('doesn’t show the operator’s secret even if the vendor quotes it', async () => {
    server.receiver.respondNext({
      statusCode: 400,
      body: JSON.stringify({ error: 'invalid_client', error_description: `Unknown: ${app.clientSecret}` }),
    });
    const result = await use(start(stage.egress, { xero: app }), GRANTED);
    expect(result).toMatchObject({ kind: 'pause', reason: expect.stringContaining('Connect the account again') });
    expect(JSON.stringify(result)).not.toContain(app.clientSecret);
  });
});

test.each([
  ['the seller’s app', CONFIG],
  ['the operator’s app', { grant: CONFIG.refreshToken }],
])(
  'the refresh token that the vendor issued last to %s isn’t shown even if the vendor quotes it',
  async (_whose, values) => {
    const withToken = start(stage.egress, {
      xero: { clientId: 'operator', clientSecret: 'operator-secret-0123456789' },
    });
    await use(withToken, values);
    await expireIn(0);
    let latest = '';
    server.receiver.handle(({ body }) => {
      latest = new URLSearchParams(body.toString()).get('refresh_token') ?? '';
      const problem = { error: 'invalid_grant', error_description: `Unknown: ${latest}` };
      return { statusCode: 400, body: JSON.stringify(problem) };
    });
    const result = await use(withToken, values);
    server.receiver.handle(server.answer);
    expect(latest).not.toBe(CONFIG.refreshToken);
    expect(result).toMatchObject({ kind: 'pause', reason: expect.stringContaining('invalid_grant: Unknown: ••••') });
    expect(JSON.stringify(result)).not.toContain(latest.slice(-12));
  },
);

describe('the time when a credential expires', () => {
  const day = 86_400;
  const endsInDays = async () => {
    const { rows } = await stage.pool.query<{ days: number | null }>(
      `SELECT extract(epoch FROM "credentialExpiresAt" - now())::float8 / ${day} AS "days" FROM "Connector" WHERE "id" = $1`,
      [connector.id],
    );
    return rows[0]!.days;
  };
  const useQuickBooks = () =>
    processes[0](connector, findConnector('quickbooks')!, CONFIG, async () => ({ isUnauthorized: false }));
  /** Intuit's response: each token extends the first number, but not the second. */
  const respond = (seconds?: unknown) =>
    hosted.respondNext({
      body: JSON.stringify({
        access_token: 'token',
        expires_in: 3_600,
        refresh_token: 'refresh',
        x_refresh_token_expires_in: 8_726_400,
        x_refresh_token_hard_expires_in: seconds,
      }),
    });

  let hosted: Receiver;
  let intuit: Egress;
  beforeAll(async () => {
    hosted = await startReceiver();
    const hostOverrides = { 'oauth.platform.intuit.com': hosted.url };
    intuit = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log: stage.log, hostOverrides });
    processes[0] = start(intuit);
  });
  afterAll(async () => {
    processes[0] = start();
    await intuit?.close();
    await hosted?.close();
  });

  test('is read from every response from Intuit, which sends it only on request', async () => {
    expect(await endsInDays()).toBeNull();
    respond(1_000 * day);
    await useQuickBooks();
    expect(hosted.requests[0]!.headers).toMatchObject({ 'x-include-refresh-token-hard-expires-in': 'true' });
    expect(await endsInDays()).toBeCloseTo(1_000, 1);
    await expireIn(0);
    respond(900 * day);
    await useQuickBooks();
    expect(await endsInDays()).toBeCloseTo(900, 1);
  });

  test.each([undefined, 'soon', -5, 1e300])('stays as it is if the response has %o instead', async (seconds) => {
    respond(1_000 * day);
    await useQuickBooks();
    await expireIn(0);
    respond(seconds);
    expect(await useQuickBooks()).toEqual({ isUnauthorized: false });
    expect(await endsInDays()).toBeCloseTo(1_000, 1);
  });
});
