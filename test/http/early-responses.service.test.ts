import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createProject } from '../support/resources.ts';

const BODY_BYTES = 9 * 1024 * 1024;
const TIMES = 10;

let app: TestApp;
let user: TestUser;
let project: { id: string };

beforeAll(async () => {
  app = await startTestApp();
  user = await app.user('alice');
  project = await createProject(user);
});
afterAll(() => app?.stop());

/**
 * Sends a request with a large body like a simple client or proxy: it reads the response only after it has sent
 * everything, or after the connection was closed for writing.
 */
function statusOf(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1', allowHalfOpen: true });
    socket.pause();
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${user.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`,
    );
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', (error) => {
      text ||= error.message;
    });
    socket.on('close', () => resolve(text.split('\r\n')[0]!));
    socket.on('end', () => socket.end());
    socket.write(Buffer.alloc(BODY_BYTES, ' '), () => socket.resume());
  });
}

test.each([
  ['the gateway', () => `/gateway/${project.id}/nothing-here`, 'HTTP/1.1 404 Not Found'],
  ['REST', () => '/api/projects', 'HTTP/1.1 413 Payload Too Large'],
  ['GraphQL', () => '/graphql', 'HTTP/1.1 413 Payload Too Large'],
])(
  '%s refuses a large body before it has arrived, and the client still gets the response',
  async (_where, path, status) => {
    for (let time = 0; time < TIMES; time++) expect(await statusOf(path())).toBe(status);
  },
);

test.each([
  ['with a length', `Content-Length: ${BODY_BYTES}`, ' '],
  ['in chunks', 'Transfer-Encoding: chunked', `900000\r\n${' '.repeat(0x90_00_00)}`],
])('a client may disconnect after its large body was refused (%s)', async (_how, header, part) => {
  for (const path of ['/graphql', `/api/projects/${project.id}/endpoints/import/preview`]) {
    const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${user.token}\r\n` +
        `Content-Type: application/json\r\n${header}\r\n\r\n${part}`,
    );
    const [head] = await once(socket, 'data');
    expect(String(head)).toMatch(/^HTTP\/1\.1 413 /);
    socket.resetAndDestroy();
    await once(socket, 'close');
    // By then, the service has noticed. An error that nobody handles would fail the test run.
    for (let count = 0; count < 5; count++) expect((await user.rest('GET', '/api/projects')).status).toBe(200);
  }
});
