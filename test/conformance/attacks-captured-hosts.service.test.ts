import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawRequest } from '../gateway/sign.ts';
import { caller, startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { sendRaw } from '../support/raw-http.ts';
import { createProject, GOOD } from '../support/resources.ts';

/** A service that doesn't know its public name yet. */
let early: TestApp;
let alice: TestUser;
let database: pg.Client;

beforeAll(async () => {
  early = await startTestApp();
  alice = await early.user('alice');
  database = new pg.Client({ connectionString: early.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await early?.stop();
});

const statusOf = async (url: string, host: string) => {
  const [response] = await sendRaw(url, [rawRequest('GET /healthz', `Host: ${host}`)]);
  return response!.status;
};

/** Starts a second process of the service, which knows its public URL. */
async function publish(publicUrl: string, options: Parameters<typeof startTestApp>[0] = {}) {
  const port = await freePort();
  const { databaseUrl, dataDir } = early;
  const env = { PORT: String(port), PUBLIC_URL: publicUrl };
  const { stop } = await startTestApp({ env, databaseUrl, dataDir, ...options });
  return { url: `http://127.0.0.1:${port}`, stop };
}

test('if a project already has a host name that now belongs to the service, requests go to the service, and the name is logged once', async () => {
  const names = ['pay.gate.example', 'gate.example', 'a.pay.gate.example', 'www.gate.example'];
  const projects = [];
  for (const gatewayHost of names) projects.push(await createProject(alice, { gatewayHost }));
  await createProject(alice, { gatewayHost: 'shop.example' });
  await expect.poll(() => statusOf(early.url, 'gate.example')).toBe(404);

  const lines: { msg: string; host: string; projectId: string }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const published = await publish('https://pay.gate.example', { log });
  try {
    for (const host of [...names.slice(0, 3), 'PAY.gate.example:443', 'gate.example.'])
      expect(await statusOf(published.url, host)).toBe(200);
    // These names are neither parent domains nor subdomains of the service's name.
    for (const host of ['www.gate.example', 'shop.example']) expect(await statusOf(published.url, host)).toBe(404);

    // Any change makes the gateway read all names again.
    await createProject(alice, { gatewayHost: 'later.example' });
    await expect.poll(() => statusOf(published.url, 'later.example')).toBe(404);
    expect(await statusOf(published.url, 'gate.example')).toBe(200);
    const warnings = lines.filter(({ msg }) => msg?.startsWith("a project's domain is ignored"));
    expect(warnings.map(({ host, projectId }) => [host, projectId]).sort()).toEqual([
      ['a.pay.gate.example', projects[2]!.id],
      ['gate.example', projects[1]!.id],
      ['pay.gate.example', projects[0]!.id],
    ]);
    expect(warnings[0]!.msg).toContain('ask the owner for a different `gatewayHost`, or correct PUBLIC_URL');
  } finally {
    await published.stop();
  }
});

test.each(['localhost', 'LOCALHOST', 'www.localhost'])(
  'requests to %s go to the service, even if a project has that host name in the database',
  async (host) => {
    const project = await createProject(alice);
    const marker = `${project.id.replaceAll('_', '-')}.example`;
    const published = await publish('http://localhost:4000');
    try {
      await database.query('UPDATE "Project" SET "gatewayHost" = $2 WHERE "id" = $1', [project.id, host]);
      // Any change makes the gateway read all names again.
      await createProject(alice, { gatewayHost: marker });
      await expect.poll(() => statusOf(published.url, marker)).toBe(404);
      expect(await statusOf(published.url, host)).toBe(200);
    } finally {
      await published.stop();
    }
  },
);

describe('a project of a published service gets 422 if it asks for', () => {
  let published: Awaited<ReturnType<typeof publish>>;
  let seller: TestUser;
  beforeAll(async () => {
    published = await publish('https://pay.gate.com', { config: { production: true } });
    seller = caller(published.url, alice.subject, alice.token);
  });
  afterAll(() => published?.stop());

  test.each([
    ["the service's name", 'pay.gate.com', /belongs to the service itself/],
    ['its www. subdomain', 'www.pay.gate.com', /belongs to the service itself/],
    ['its console. subdomain', 'console.pay.gate.com', /belongs to the service itself/],
    ['its parent domain', 'gate.com', /belongs to the service itself/],
    ["a cloud's metadata service", 'metadata.google.internal', /Must be a name on the public internet/],
    ['a loopback name', 'a.localhost', /Must be a name on the public internet/],
  ])('%s', async (_what, gatewayHost, message) => {
    const project = await createProject(seller);
    const asked = { ...GOOD.project, gatewayHost };
    for (const refused of [
      await seller.rest<{ errors: unknown }>('POST', '/api/projects', asked),
      await seller.rest<{ errors: unknown }>('PATCH', project.base, { gatewayHost: gatewayHost.toUpperCase() }),
    ]) {
      expect(refused.status).toBe(422);
      expect(refused.body.errors).toEqual([{ pointer: '/gatewayHost', message: expect.stringMatching(message) }]);
    }
  });
});
