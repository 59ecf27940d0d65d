import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openSocket } from '../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, type Resource } from '../support/resources.ts';
import { codeBlocks, readPage, section } from './pages.ts';

const isInstalled = spawnSync('nginx', ['-v']).status === 0;
if (!isInstalled)
  console.warn('Skipped: the nginx configuration of docs/deployment.md, because nginx is not installed.');

describe.skipIf(!isInstalled)('behind nginx, configured as in docs/deployment.md', () => {
  let app: TestApp;
  let nginx: ChildProcess;
  let directory: string;
  let user: TestUser;
  let project: Resource & { base: string };
  let port: number;

  beforeAll(async () => {
    app = await startTestApp({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
    port = await freePort();
    directory = await mkdtemp(join(tmpdir(), 'tollgate-nginx-'));
    await chmod(directory, 0o755);
    await mkdir(join(directory, 'logs'));
    await writeFile(join(directory, 'nginx.conf'), await configuration());
    nginx = spawn('nginx', ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    nginx.stderr!.on('data', (text) => {
      complaint += text;
    });
    await vi.waitFor(async () => expect(await isUp(), complaint).toBe(true), { timeout: 60_000 });
    user = await app.user('alice');
    project = await createProject(user);
  });

  afterAll(async () => {
    nginx.kill('SIGTERM');
    if (nginx.exitCode === null) await once(nginx, 'exit');
    await app.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function configuration(): Promise<string> {
    const [site] = codeBlocks(section(await readPage('docs/deployment.md'), '## Behind a reverse proxy'), 'nginx');
    const adapted = site!
      .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
      .replaceAll(/^ *ssl_certificate.*\n/gm, '')
      .replace('127.0.0.1:4000', new URL(app.url).host);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${directory}/${name};`,
    );
    return `daemon off; master_process off; pid ${directory}/pid; events {}
      http { access_log off; ${paths.join(' ')}\n${adapted}}`;
  }

  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.end());
    });

  /** Sends a request through nginx from a loopback address. */
  async function ask(
    path: string,
    options: { method?: string; headers?: Record<string, string>; body?: Buffer | string; from?: string } = {},
  ): Promise<IncomingMessage> {
    const { method = 'GET', headers = {}, body, from = '127.0.0.1' } = options;
    const outgoing = httpRequest({ host: '127.0.0.1', port, path, method, headers, localAddress: from });
    outgoing.end(body);
    const [response] = await once(outgoing, 'response');
    return response;
  }

  test('a WebSocket is upgraded and streams events', async () => {
    const socket = await openSocket(`http://127.0.0.1:${port}`);
    socket.send({ type: 'connection_init', payload: { Authorization: `Bearer ${user.token}` } });
    await socket.next(({ type }) => type === 'connection_ack');
    const query = `subscription { eventRecorded(projectId: "${project.id}") { event { type } } }`;
    socket.send({ type: 'subscribe', id: '1', payload: { query } });
    await createUntil(async () => socket.received.some(({ type }) => type === 'next'));
    expect(JSON.stringify(socket.received)).toContain('ENDPOINT_CREATED');
    await socket.close();
  });

  test('server-sent events arrive while the stream is open', async () => {
    const query = `subscription { eventRecorded(projectId: "${project.id}") { event { type } } }`;
    const response = await ask('/graphql', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${user.token}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query }),
    });
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    await createUntil(async () => text.includes('ENDPOINT_CREATED'));
    expect(response.complete).toBe(false);
    response.destroy();
  });

  test('callers are identified by their real address, no matter what x-forwarded-for says', async () => {
    const guess = (from: string, claimed: string) =>
      ask('/api/projects', { from, headers: { authorization: 'Bearer x', 'x-forwarded-for': claimed } });
    let refused = 0;
    for (let tries = 0; tries < 40 && refused === 0; tries += 1)
      if ((await guess('127.0.0.2', `198.51.100.${tries}`)).statusCode === 429) refused = tries;
    expect(refused).toBeGreaterThan(0);
    expect((await guess('127.0.0.3', '127.0.0.2')).statusCode).toBe(401);
  });

  test('large bodies reach the service, which rejects them with its own error', async () => {
    const send = (path: string, bytes: number) =>
      ask(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' },
        body: Buffer.alloc(bytes, ' '),
      });
    const toApi = await send('/api/projects', 300 * 1024);
    expect([toApi.statusCode, toApi.headers['content-type']]).toEqual([413, 'application/problem+json; charset=utf-8']);
    const toGateway = await send(`/gateway/${project.id}/nothing-here`, 9 * 1024 * 1024);
    expect([toGateway.statusCode, toGateway.headers['content-type']]).toEqual([404, expect.stringContaining('json')]);
  });

  test('the metrics are not reachable', async () => {
    expect((await ask('/metrics')).statusCode).toBe(404);
  });

  /** Records events until one has arrived, because nothing signals that a subscription has started. */
  async function createUntil(hasArrived: () => Promise<boolean>): Promise<void> {
    await expect
      .poll(
        async () => {
          await createEndpoint(user, project.base);
          return hasArrived();
        },
        { timeout: 60_000, interval: 100 },
      )
      .toBe(true);
  }
});

async function freePort(): Promise<number> {
  const receiver = await startReceiver();
  await receiver.close();
  return receiver.port;
}
