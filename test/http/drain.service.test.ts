import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';

test('a request that arrives while the service stops gets a 503 that says to retry, and its connection is closed', async () => {
  const app = await startTestApp();
  const { port } = new URL(app.url);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\n');
  // The server has read the first line by the time it has responded to a later request.
  await fetch(`${app.url}/healthz`);
  const stopped = app.stop();
  const isListening = () =>
    fetch(`${app.url}/healthz`).then(
      () => true,
      () => false,
    );
  await expect.poll(isListening).toBe(false);
  socket.write('Host: localhost\r\n\r\n');
  const response = await text(socket);
  expect(response).toMatch(/^HTTP\/1\.1 503 /);
  expect(response.toLowerCase()).toContain('\r\nretry-after: 1\r\n');
  expect(response.toLowerCase()).toContain('\r\nconnection: close\r\n');
  expect(JSON.parse(response.slice(response.indexOf('{')))).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
  await stopped;
});
