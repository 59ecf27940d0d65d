import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BACKLOG_LIMITS } from '../../src/limits/backlog.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { createEndpoint, createProject } from '../support/resources.ts';

const WAIT = { timeout: 90_000, interval: 100 };
const ENDPOINTS = 110;
const CLIENTS = 12;

let app: TestApp;
let mallory: TestUser;
let project: { id: string; base: string };
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  app = await startTestApp({ env: { ROLES: 'api' } });
  mallory = await app.user('mallory', 'ENTERPRISE');
  project = await createProject(mallory);
  const large = 'x'.repeat(32_000);
  const endpoint = { exampleResponse: large, inputSchema: { body: { type: 'string', description: large.slice(100) } } };
  for (let index = 0; index < ENDPOINTS; index++)
    await createEndpoint(mallory, project.base, { path: `/${index}`, ...endpoint });
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app?.stop();
});

const metric = async (name: string) => metricValue(await readMetrics(app.url), name);

/** Sends a request on its own connection and never reads the response. */
function sendWithoutReading(head: string, body = ''): void {
  const { hostname, port, host } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  sockets.push(socket);
  const headers = [`Host: ${host}`, `Authorization: Bearer ${mallory.token}`, `Content-Length: ${body.length}`];
  socket.write([`${head} HTTP/1.1`, ...headers, 'Content-Type: application/json', '', body].join('\r\n'));
}

const query = `{ project(id: "${'%'}") { endpoints(first: 100) { nodes { exampleResponse inputSchema } } } }`;
const REQUESTS: Record<string, () => void> = {
  REST: () => sendWithoutReading(`GET ${project.base}/endpoints?limit=100`),
  GraphQL: () => sendWithoutReading('POST /graphql', JSON.stringify({ query: query.replace('%', project.id) })),
  'Yoga’s HTTP server': () =>
    sendWithoutReading('POST /graphql?yoga', JSON.stringify({ query: query.replace('%', project.id) })),
};

test.each(Object.keys(REQUESTS))(
  'large responses that an account doesn’t read are limited in total, and end when their client stalls: %s',
  async (transport) => {
    for (let client = 0; client < CLIENTS; client++) REQUESTS[transport]!();
    let most = 0;
    await expect
      .poll(async () => {
        const waiting = await metric('tollgate_live_backlog_bytes');
        expect(waiting).toBeLessThanOrEqual(BACKLOG_LIMITS.accountBytes);
        most = Math.max(most, waiting);
        return metric('tollgate_live_streams_dropped_total');
      }, WAIT)
      .toBe(CLIENTS);
    expect(most).toBeGreaterThan(BACKLOG_LIMITS.accountBytes / 2);
    await expect.poll(() => metric('tollgate_live_backlog_bytes'), WAIT).toBe(0);
    const response = await mallory.rest<{ data: object[] }>('GET', `${project.base}/endpoints?limit=100`);
    expect(response.body.data).toHaveLength(100);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(6_000_000);
  },
);
