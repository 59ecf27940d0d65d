import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWithToken } from '../../../src/delivery/send/access-tokens.ts';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress } from '../../../src/egress/egress.ts';
import { createIdleTokens } from '../../../src/features/connectors/idle-tokens.ts';
import { startTokenServer, type TokenServer } from '../../connectors/support/token-server.ts';
import { openStage, type Stage } from '../../delivery/support.ts';

const REFRESH_TOKEN = 'refresh-of-xero';
const CONFIG = {
  tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056',
  clientId: 'client',
  clientSecret: 'secret-0123456789',
  refreshToken: REFRESH_TOKEN,
};

let stage: Stage;
let server: TokenServer;
let renew: () => Promise<void>;

beforeAll(async () => {
  stage = await openStage();
  server = await startTokenServer();
  const { pool, secretBox, log } = stage;
  const egress = createEgress({
    allow: parseEgressAllow('127.0.0.1/32:*'),
    log,
    hostOverrides: { 'identity.xero.com': server.url },
  });
  const withToken = createWithToken({ pool, egressOf: () => egress, secretBox, userAgent: 'Tollgate/test' });
  const renewIdleTokens = createIdleTokens({ secretBox, withToken, log });
  renew = () => renewIdleTokens(pool);
});
beforeEach(async () => {
  await stage.pool.query('TRUNCATE "Connector" CASCADE');
  server.connect(REFRESH_TOKEN);
  server.grants.length = 0;
});
afterAll(async () => {
  await server?.close();
  await stage?.close();
});

const letPass = async (days: number) => {
  const by = `make_interval(days => ${days})`;
  await stage.pool.query(`UPDATE "Connector" SET "updatedAt" = "updatedAt" - ${by}`);
  await stage.pool.query(
    `UPDATE "ConnectorToken" SET "issuedAt" = "issuedAt" - ${by}, "expiresAt" = "expiresAt" - ${by}`,
  );
};
const usedTokens = () => server.grants.map(({ parameters }) => parameters.get('refresh_token'));

test('a connector that sends nothing for months gets a new token every week, each with the latest refresh token', async () => {
  await stage.addConnector('xero', CONFIG);
  for (let day = 0; day < 100; day++) {
    await renew();
    await letPass(1);
  }
  expect(server.grants.length).toBeGreaterThanOrEqual(12);
  expect(server.grants.length).toBeLessThanOrEqual(14);
  expect(new Set(usedTokens()).size).toBe(server.grants.length);
});

test.each([
  ['is paused', { pausedAt: new Date(), pausedReason: 'credentials' }, CONFIG],
  ['is disabled', { isActive: false }, CONFIG],
  ['has only an access token', {}, { tenantId: CONFIG.tenantId, accessToken: 'token-0123456789' }],
])('a connector that %s gets no token', async (_what, values, config) => {
  await stage.addConnector('xero', config, values);
  await letPass(10);
  await renew();
  expect(server.grants).toEqual([]);
});

test("a vendor that rejects one connector's request doesn't keep other connectors from getting a token", async () => {
  const other = { ...CONFIG, refreshToken: 'revoked-by-its-owner' };
  for (const config of [other, CONFIG, other]) await stage.addConnector('xero', config);
  await letPass(10);
  await renew();
  expect(usedTokens().sort()).toEqual([REFRESH_TOKEN, other.refreshToken, other.refreshToken].sort());
  const { rows } = await stage.pool.query(`SELECT "id" FROM "ConnectorToken" WHERE "expiresAt" > now()`);
  expect(rows).toHaveLength(1);
});

test('several processes get only one token for a connector', async () => {
  await stage.addConnector('xero', CONFIG);
  await letPass(10);
  await Promise.all([renew(), renew(), renew()]);
  expect(usedTokens()).toEqual([REFRESH_TOKEN]);
});
