import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';

/** Returns once the service no longer accepts connections. */
async function startStopping(app: TestApp): Promise<{ stopped: Promise<void> }> {
  const stopped = app.stop();
  const isListening = () =>
    fetch(`${app.url}/healthz`).then(
      () => true,
      () => false,
    );
  await expect.poll(isListening).toBe(false);
  return { stopped };
}

test('a request that arrives while the service stops gets a 503 that says to retry, and its connection is closed', async () => {
  const app = await startTestApp();
  const { port } = new URL(app.url);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\n');
  // The server has read the first line by the time it has responded to a later request.
  await fetch(`${app.url}/healthz`);
  const { stopped } = await startStopping(app);
  socket.write('Host: localhost\r\n\r\n');
  const response = await text(socket);
  expect(response).toMatch(/^HTTP\/1\.1 503 /);
  expect(response.toLowerCase()).toContain('\r\nretry-after: 1\r\n');
  expect(response.toLowerCase()).toContain('\r\nconnection: close\r\n');
  expect(JSON.parse(response.slice(response.indexOf('{')))).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
  await stopped;
});

test('a request that is in progress when the service stops gets its response, and its connection is closed', async () => {
  const app = await startTestApp();
  // Otherwise, an idle connection would close by itself.
  app.http.keepAliveTimeout = 0;
  const { token } = await app.user('alice');
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const [start, rest] = ['{ "name": "Shop", ', '"walletAddress": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045" }'];
  const head = ['POST /api/projects HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`];
  head.push('Content-Type: application/json', `Content-Length: ${start.length + rest.length}`, 'Expect: 100-continue');
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  // The service asks for the body once it has accepted the request.
  const [interim] = await once(socket, 'data');
  expect(interim.toString()).toMatch(/^HTTP\/1\.1 100 /);
  socket.write(start);
  const { stopped } = await startStopping(app);
  socket.write(rest);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 201 /);
  await stopped;
});

test('a request that never arrives completely doesn’t keep the worker from stopping', async () => {
  const app = await startTestApp();
  const database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  const queueConnections = async () => {
    const { rowCount } = await database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tollgate-queue'`,
    );
    return rowCount;
  };
  await expect.poll(queueConnections).toBeGreaterThan(0);
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\n');
  // The server has read the first line by the time it has responded to a later request.
  await fetch(`${app.url}/healthz`);
  const stopped = app.stop();
  await expect.poll(queueConnections).toBe(0);
  await database.end();
  socket.destroy();
  await stopped;
});
