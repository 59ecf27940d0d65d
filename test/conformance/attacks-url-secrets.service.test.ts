import { Writable } from 'node:stream';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import type { ConnectorType } from '../../src/connectors/definition.ts';
import { openStage, type Stage } from '../connectors/end-to-end/stage.ts';
import { payingFetch, type Rails, startRails } from '../gateway/support.ts';
import type { TestUser } from '../support/app.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { createKey, EVERY_SCOPE } from '../support/resources.ts';
import { type Canary, dumpDatabase, findCanaries, newCore, type Trace } from './canaries.ts';
import { createCarelessVendor } from './connector-echoes.ts';

const canaries: Canary[] = [];
const answers: Trace[] = [];
const frames: Trace[] = [];
const logLines: Trace[] = [];

/** A secret with characters that URLs, JSON, and HTML escape. Its core is the same in every escaped form. */
function plant(name: string): string {
  const core = newCore();
  canaries.push({ name, core });
  return core;
}

/** A secret too short to be recognized by its length. */
function plantShort(name: string): string {
  const core = `q7${newCore().slice(-7)}`;
  canaries.push({ name, core });
  return core;
}

const upstreamQuery = `?key=${plant('in the query of the upstream')}&v=1&short=${plantShort('short, in the query of the upstream')}`;
const webhookPath = `/hooks/${plant('in the path of the webhook')}/${plantShort('short, in the path of the webhook')}`;
const webhookQuery = `?token=a%2F%C3%BC${plant('in the query of the webhook')}+z&t=${plantShort('short, in the query of the webhook')}`;

const CONNECTORS: ConnectorType[] = ['slack', 'discord', 'zapier', 'n8n', 'supabase'];

let rails: Rails;
let stage: Stage;
let upstream: Receiver;
let receiver: Receiver;
let socket: WebSocket;
let program: TestUser;
let endpointPath: string;
let webhookUrl: string;
let webhookBase: string;
let upstreamUrl: string;
let contactsSent = '';
let importsSent = '';

/** The whole request, in every encoding that a receiver could send back. */
function echo({ method, path, headers, body }: ReceivedRequest): string {
  const parsed = new URL(path, 'http://receiver.example');
  const parts = [
    ...[path, `http://${headers.host}${path}`, parsed.pathname, parsed.search, decodeURIComponent(path)],
    ...[...parsed.searchParams].flat(),
    ...parsed.pathname.split('/').filter((segment) => segment.length > 6),
    ...[JSON.stringify(Object.fromEntries(parsed.searchParams)), body.toString(), JSON.stringify(headers)],
  ];
  const spelled = parts.flatMap((part) => [
    ...[part, encodeURIComponent(part), JSON.stringify(part), JSON.stringify(part).replaceAll('/', '\\/')],
    ...[Buffer.from(part).toString('base64'), part.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
    part.replace(/%../g, (octet) => octet.toLowerCase()),
  ]);
  return `${method} ${spelled.join('\n')}`;
}

beforeAll(async () => {
  rails = await startRails();
  const lines = new Writable({
    write(chunk, _encoding, done) {
      logLines.push({ where: `the log: ${String(chunk).slice(0, 200)}`, text: String(chunk) });
      done();
    },
  });
  // Logs without the service's redaction, because nothing should depend on it.
  stage = await openStage({ retryScheduleSeconds: [] }, { log: pino({ level: 'trace' }, lines), env: rails.env });
  upstream = await startReceiver(() => ({ body: 'served' }));
  receiver = await startReceiver((request) => ({
    statusCode: 500,
    headers: {
      location: request.path,
      'x-echo': encodeURIComponent(request.path),
      link: `<${request.path}>; rel="self"`,
    },
    body: echo(request),
  }));
  program = stage.app.caller((await createKey(stage.user, stage.base, EVERY_SCOPE)).key);
  upstreamUrl = `${upstream.url}/now${upstreamQuery}`;
  webhookUrl = receiver.url + webhookPath + webhookQuery;
  socket = await subscribe();
});

afterAll(async () => {
  socket?.terminate();
  await stage?.close();
  await Promise.all([upstream?.close(), receiver?.close()]);
  await rails?.close();
});

/** Subscribes with an API key to everything that happens in the project. */
async function subscribe(): Promise<WebSocket> {
  const ws = new WebSocket(`${stage.app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  ws.on('message', (data) => frames.push({ where: 'a frame of the WebSocket', text: String(data) }));
  const send = (message: object) => ws.send(JSON.stringify(message));
  await new Promise((resolve) => ws.once('open', resolve));
  send({ type: 'connection_init', payload: { Authorization: `Bearer ${program.token}` } });
  await new Promise((resolve) => ws.once('message', resolve));
  const attempts = 'attempts { errorMessage requestUrl requestHeaders responseHeaders responseBody }';
  const queries = [
    `subscription ($project: ID!) { deliveryUpdated(projectId: $project) { delivery { id status reason ${attempts} event { data } } } }`,
    'subscription ($project: ID!) { eventRecorded(projectId: $project) { event { id type data } } }',
    'subscription ($project: ID!) { paymentUpdated(projectId: $project) { payment { id status failureMessage } } }',
  ];
  for (const [id, query] of queries.entries()) {
    send({ id: String(id), type: 'subscribe', payload: { query, variables: { project: stage.projectId } } });
  }
  return ws;
}

/** Sends a request and records the response, which must not contain secrets. */
async function ask<T = Record<string, unknown>>(who: TestUser, method: string, path: string, body?: object) {
  const answer = await who.rest<T>(method, path, body);
  const text = JSON.stringify([answer.body, [...answer.headers]]);
  answers.push({ where: `${who === program ? 'the key: ' : ''}${method} ${path}`, text });
  return answer;
}

async function query(who: TestUser, document: string, variables: object) {
  const answer = await who.graphql(document, { ...variables });
  expect(answer.errors).toBeUndefined();
  answers.push({ where: `${who === program ? 'the key: ' : ''}${document}`, text: JSON.stringify(answer) });
}

async function settled(): Promise<void> {
  const open = async () => {
    // Makes all retries due now, as a manual resend does, because retries to a failing receiver are delayed.
    const waiting = { status: 'PENDING', trigger: 'SCHEDULED' } as const;
    await stage.db.prisma.delivery.updateMany({
      where: waiting,
      data: { trigger: 'MANUAL', nextAttemptAt: new Date() },
    });
    // A connector that rejected several events in a row is paused, and holds the next ones.
    const isHeld = { reason: 'paused' };
    return stage.db.prisma.delivery.count({ where: { outcome: null, OR: [{ reason: null }, { NOT: isHeld }] } });
  };
  await expect.poll(open, { interval: 50 }).toBe(0);
}

describe('a service that gets URLs with secrets', () => {
  test("gets them in a webhook's URL: users see them in full, and API keys see them masked", async () => {
    const body = { url: webhookUrl, eventTypes: ['*'] };
    const byPerson = await stage.user.rest<{ id: string; url: string }>('POST', `${stage.base}/webhooks`, body);
    expect(byPerson).toMatchObject({ status: 201, body: { url: webhookUrl } });
    webhookBase = `${stage.base}/webhooks/${byPerson.body.id}`;
    const masked = `${receiver.url}/hooks/••••/••••?token=••••&t=••••`;
    expect((await ask(program, 'GET', webhookBase)).body).toMatchObject({ url: masked });
    expect(
      await ask(program, 'POST', `${stage.base}/webhooks`, { ...body, eventTypes: ['payment.failed'] }),
    ).toMatchObject({
      status: 201,
      body: { url: masked },
    });
    expect(await ask(program, 'PATCH', webhookBase, { url: masked, description: 'Shop' })).toMatchObject({
      status: 200,
      body: { url: masked, description: 'Shop' },
    });
    expect((await stage.user.rest('GET', webhookBase)).body).toMatchObject({ url: webhookUrl });
  });

  test("gets them in an endpoint's URL: users see them in full, API keys see them masked, and connectors get events", async () => {
    for (const type of CONNECTORS) {
      stage.vendors.interfere(type, createCarelessVendor(() => {})(400));
      await stage.connect(type);
    }
    const body = { path: '/weather', upstreamUrl, priceUsd: '0.01' };
    const byPerson = await stage.user.rest<{ id: string }>('POST', `${stage.base}/endpoints`, body);
    expect(byPerson).toMatchObject({ status: 201, body: { upstreamUrl } });
    endpointPath = `${stage.base}/endpoints/${byPerson.body.id}`;
    const masked = `${upstream.url}/now?key=••••&v=••••&short=••••`;
    expect((await ask(program, 'GET', endpointPath)).body).toMatchObject({ upstreamUrl: masked });
    const byProgram = await ask(program, 'POST', `${stage.base}/endpoints`, { ...body, path: '/by-program' });
    expect(byProgram).toMatchObject({ status: 201, body: { upstreamUrl: masked } });
    expect(await ask(program, 'PATCH', endpointPath, { upstreamUrl: masked, priceUsd: '0.02' })).toMatchObject({
      status: 200,
      body: { upstreamUrl: masked, priceUsd: '0.02' },
    });
    expect((await stage.user.rest('GET', endpointPath)).body).toMatchObject({ upstreamUrl, priceUsd: '0.02' });
    const moved = { upstreamUrl: upstreamUrl.replace('/now', '/then') };
    expect(await stage.user.rest('PATCH', endpointPath, moved)).toMatchObject({ status: 200, body: moved });
  });

  test('uses the URLs: payments reach the upstream and fail there, and test events reach the receiver', async () => {
    const pay = payingFetch(await rails.wallet());
    const url = `${stage.app.url}/gateway/${stage.projectId}/weather`;
    await expect.poll(async () => (await pay(url)).status).toBe(200);
    upstream.handle((request) => ({ statusCode: 500, body: echo(request) }));
    answers.push({ where: 'the paid request that fails', text: JSON.stringify([...(await pay(url)).headers]) });
    expect(upstream.requests.at(-1)!.path).toContain(upstreamQuery);
    upstream.handle((_request, response) => void response.destroy() as undefined);
    expect((await pay(url)).status).toBe(502);
    expect((await ask(program, 'POST', `${webhookBase}/test`, { eventType: 'endpoint.created' })).status).toBe(200);
    await settled();
    receiver.handle((_request, response) => void response.destroy() as undefined);
    expect((await ask(program, 'POST', `${webhookBase}/test`, { eventType: 'payment.settled' })).status).toBe(200);
    await settled();
    expect(receiver.requests.length).toBeGreaterThan(4);
    for (const { path } of receiver.requests) expect(path).toBe(webhookPath + webhookQuery);
  });
});

describe('a service that gets more URLs with secrets', () => {
  test("gets them as contacts' URLs, which are shown masked to everyone", async () => {
    const secret = (place: string) => `${receiver.url}/contact/${plant(`in the path of a contact’s ${place}`)}`;
    const body = { slackUrl: secret('Slack URL'), webhookUrl: secret('webhook URL') };
    expect((await ask(stage.user, 'PATCH', `${stage.base}/contacts`, body)).status).toBe(200);
    for (const who of [stage.user, program]) expect((await ask(who, 'GET', `${stage.base}/contacts`)).status).toBe(200);
    contactsSent = Object.values(body).join(' ');
  });

  test('gets them in an OpenAPI document, and in the URL that it is imported from', async () => {
    const server = `${upstream.url}/api?key=${plant('in the server of an imported document')}`;
    const document = JSON.stringify({
      openapi: '3.1.0',
      servers: [{ url: server }],
      paths: { '/imported': { get: {} } },
    });
    const item = { path: '/imported', methods: ['GET'] };
    const input = { document, upstreamUrl: server, priceUsd: '1', items: [item] };
    expect((await ask(program, 'POST', `${stage.base}/endpoints/import`, input)).status).toBe(200);
    receiver.handle(() => ({ statusCode: 404 }));
    const url = `${receiver.url}/openapi.json?token=${plant('in the URL of a document')}`;
    expect((await ask(program, 'POST', `${stage.base}/endpoints/import/preview`, { url })).status).toBe(422);
    importsSent = `${server} ${url}`;
  });

  test('gets them in a copy of the project, which is read with the copy’s API key', async () => {
    const copied = await stage.user.rest<{ id: string }>('POST', `${stage.base}/copy`, {
      name: 'Copy',
      walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
      mode: 'TEST',
    });
    expect(copied.status).toBe(200);
    const base = `/api/projects/${copied.body.id}`;
    const key = stage.app.caller((await createKey(stage.user, base, EVERY_SCOPE)).key);
    for (const list of ['webhooks', 'endpoints', 'connectors', 'audit-log', 'events', 'contacts', 'notices']) {
      const { status, body } = await ask(key, 'GET', `${base}/${list}`);
      expect([list, status]).toEqual([list, 200]);
      if (list === 'webhooks') expect(JSON.stringify(body)).toContain('••••');
    }
    expect((await ask(stage.user, 'GET', `${base}/audit-log`)).status).toBe(200);
  });
});

describe('clients that read everything', () => {
  test.each(['person', 'program'])('use REST and GraphQL as a %s', async (kind) => {
    const who = kind === 'person' ? stage.user : program;
    const { base } = stage;
    const lists = ['deliveries', 'events', 'audit-log', 'payments', 'customers', 'replays', 'connectors'];
    // Users may see the secrets when they read these resources, but programs must not.
    if (who === program) lists.push('webhooks', 'endpoints');
    for (const list of lists) expect((await ask(who, 'GET', `${base}/${list}?limit=100`)).status, list).toBe(200);
    const { body } = await who.rest<{ data: { id: string }[] }>('GET', `${base}/deliveries?limit=100`);
    expect(body.data.length).toBeGreaterThan(15);
    for (const { id } of body.data) {
      await ask(who, 'GET', `${base}/deliveries/${id}`);
      await ask(who, 'GET', `${base}/deliveries/${id}/explain`);
    }
    const own =
      who === program ? 'webhooks(first: 50) { nodes { url } } endpoints(first: 50) { nodes { upstreamUrl } }' : '';
    await query(
      who,
      `query ($id: ID!) { project(id: $id) { ${own} events(first: 50) { nodes { data } } auditLog(first: 50) { nodes { changes previous } }
         deliveries(first: 50) { nodes { reason event { data } attempts { errorMessage responseBody } } } } }`,
      { id: stage.projectId },
    );
  });

  test.each(['person', 'program'])('use exports and searches as a %s', async (kind) => {
    const who = kind === 'person' ? stage.user : program;
    for (const list of ['payments', 'customers', 'deliveries', 'events', 'audit-log']) {
      for (const format of ['csv', 'jsonl']) {
        const path = `${stage.base}/${list}/export?format=${format}`;
        const response = await fetch(stage.app.url + path, { headers: { authorization: `Bearer ${who.token}` } });
        expect(response.status).toBe(200);
        answers.push({ where: path, text: await response.text() });
      }
    }
    for (const text of ['weather', 'hooks', '127.0.0.1', 'Shop', 'contact']) {
      expect((await ask(who, 'GET', `${stage.base}/search?q=${text}`)).status).toBe(200);
    }
    for (const list of ['notices', 'contacts'])
      expect((await ask(who, 'GET', `${stage.base}/${list}`)).status).toBe(200);
  });

  test('use the documents that buyers read', async () => {
    const gateway = `${stage.app.url}/gateway/${stage.projectId}`;
    for (const path of ['/openapi.json', '/.well-known/x402', '/llms.txt', '/weather', '/imported']) {
      const response = await fetch(gateway + path);
      answers.push({ where: path, text: JSON.stringify([[...response.headers], await response.text()]) });
      expect([200, 402]).toContain(response.status);
    }
  });

  test('the search finds every secret in the requests that were sent', () => {
    const sent = [...receiver.requests, ...upstream.requests].map((request) => ({ where: 'it', text: echo(request) }));
    sent.push({ where: 'it', text: `${contactsSent} ${importsSent}` });
    const found = new Set(findCanaries(canaries, sent));
    expect(canaries.map(({ name }) => `${name} in it`).filter((hit) => !found.has(hit))).toEqual([]);
  });

  test('no response contains a secret, except when a user reads the resource', () => {
    expect(answers.length).toBeGreaterThan(60);
    expect(findCanaries(canaries, answers)).toEqual([]);
  });

  test('no frame of a subscription contains a secret', () => {
    expect(frames.length).toBeGreaterThan(20);
    expect(findCanaries(canaries, frames)).toEqual([]);
  });

  test('no request to a connector contains a secret', () => {
    const calls = CONNECTORS.flatMap((type) =>
      stage.vendors.callsTo(type).map(({ url, headers, body }) => ({
        where: `a request to ${type}`,
        text: `${url.href} ${JSON.stringify(headers)} ${body}`,
      })),
    );
    expect(new Set(calls.filter(({ text }) => text.includes('/by-program')).map(({ where }) => where)).size).toBe(
      CONNECTORS.length,
    );
    expect(findCanaries(canaries, calls)).toEqual([]);
  });

  test('no webhook body contains a secret', () => {
    const bodies = receiver.requests.map(({ body }) => ({ where: 'a body', text: body.toString() }));
    expect(bodies.some(({ text }) => text.includes('key=••••'))).toBe(true);
    expect(findCanaries(canaries, bodies)).toEqual([]);
  });

  test('no log line contains a secret, even at the most verbose level', () => {
    expect(logLines.length).toBeGreaterThan(50);
    expect(findCanaries(canaries, logLines)).toEqual([]);
  });

  test('no database row contains a secret, except for webhooks and endpoints', async () => {
    const dump = await dumpDatabase(stage.db.pool);
    const others = dump.filter(({ where }) => !/\."(Webhook|Endpoint)"$/.test(where));
    expect(others.length).toBeGreaterThan(80);
    expect(dump.length).toBeGreaterThan(others.length);
    expect(findCanaries(canaries, others)).toEqual([]);
  });
});
