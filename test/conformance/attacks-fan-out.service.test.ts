import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TIERS } from '../../src/limits/tiers.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { WALLET } from '../support/resources.ts';

// A starter account wants the service to flood one host: it packs as many mutations as it can into a few requests.

let app: TestApp;
let mallory: TestUser;
let victim: Receiver;
let sql: pg.Pool;

beforeAll(async () => {
  victim = await startReceiver();
  app = await startTestApp();
  sql = new pg.Pool({ connectionString: app.databaseUrl });
  mallory = await app.user('mallory', 'STARTER');
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
  await victim?.close();
});

const pendingCount = async () => (await sql.query('SELECT FROM "Delivery" WHERE "outcome" IS NULL')).rowCount;

const thirty = (field: (index: number) => string) =>
  `mutation { ${Array.from({ length: 30 }, (_, index) => `m${index}: ${field(index)}`).join('\n')} }`;

async function send(query: string) {
  const { status, body } = await mallory.rest<{ data?: Record<string, { project?: { id: string } } | null> }>(
    ...(['POST', '/graphql', { query }] as const),
  );
  return { isLimited: status === 429, made: Object.values(body.data ?? {}).filter((each) => each !== null) };
}

test('thirteen requests from a starter account cause fewer requests to a host than the account could send directly', async () => {
  const startedAt = performance.now();
  const { made } = await send(
    thirty((index) => `createProject(input: { name: "P${index}", walletAddress: "${WALLET}" }) { project { id } }`),
  );
  const projectIds = made.map((each) => each!.project!.id);
  expect(projectIds).toHaveLength(30);

  const webhook = (projectId: string, index: number) =>
    `createWebhook(input: { projectId: "${projectId}", url: "${victim.url}/${index}", eventTypes: [ALL] }) { webhook { id } }`;
  const endpoint = (projectId: string, index: number) =>
    `createEndpoint(input: { projectId: "${projectId}", path: "/${index}", upstreamUrl: "https://api.example.com", priceUsd: "1" }) { endpoint { id } }`;
  const attack = [
    ...Array.from({ length: 10 }, (_, round) => thirty((index) => webhook(projectIds[index]!, round))),
    ...Array.from({ length: 2 }, (_, round) => thirty((index) => endpoint(projectIds[index]!, round))),
  ];
  let accepted = made.length;
  let limited = 0;
  for (const query of attack) {
    const { isLimited, made } = await send(query);
    accepted += made.length;
    limited += isLimited ? 1 : 0;
  }
  // The limit for one minute, plus what refills during the test. Every accepted request counts for thirty.
  const { requestsPerMinute } = TIERS.STARTER;
  const refilled = Math.ceil(((performance.now() - startedAt) * requestsPerMinute) / 60_000);
  expect(accepted).toBeLessThanOrEqual(requestsPerMinute + refilled);
  expect(limited).toBeGreaterThanOrEqual(1 + attack.length - Math.floor((requestsPerMinute + refilled) / 30));

  await expect.poll(pendingCount).toBe(0);
  expect(victim.requests.length).toBeLessThan(accepted);
});
