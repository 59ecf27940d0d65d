import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SCOPES } from '../../../src/auth/permissions.ts';
import { createMcpServer } from '../../../src/cli/mcp/server.ts';
import { TOOLS } from '../../../src/cli/mcp/tools.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { openMcp } from '../../support/mcp.ts';
import { join, person } from '../../support/members.ts';
import { createPayment } from '../../support/payments.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../../support/resources.ts';

type Page<Item> = { data: Item[] };
type Entry = { action: string; client: string | null; changes: { tool: string } };
type Arguments = Record<string, unknown>;

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
let projectId: string;
let base: string;
let ids: Record<string, string>;
let made = 0;

beforeAll(async () => {
  app = await startTestApp();
  alice = await person(app, 'alice', 'ENTERPRISE');
  receiver = await startReceiver();
  ({ id: projectId, base } = await createProject(alice));
  const webhook = await createWebhook(alice, base, { url: receiver.url });
  const connector = await createConnector(alice, base, { eventTypes: ['payment.settled'] });
  const endpoint = await createEndpoint(alice, base);
  const paid = await createPayment(app, { projectId, endpointId: endpoint.id, mark: 'weather' });
  const delivery = await vi.waitFor(
    async () => {
      const { body } = await alice.rest<Page<{ id: string; eventId: string }>>(
        'GET',
        `${base}/deliveries?status=SUCCEEDED`,
      );
      expect(body.data).not.toEqual([]);
      return body.data[0]!;
    },
    { timeout: 60_000 },
  );
  const filter = { status: ['SUCCEEDED'], webhookId: webhook.id };
  const started = await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, { filter });
  ids = {
    webhookId: webhook.id,
    connectorId: connector.id,
    endpointId: endpoint.id,
    ...paid,
    deliveryId: delivery.id,
    eventId: delivery.eventId,
    replayId: started.body.replay.id,
  };
});
afterAll(async () => {
  await receiver?.close();
  await app?.stop();
});

/** Valid arguments for each tool. Tools that aren't listed take no arguments. */
const given = (name: string) => () => ({ [name]: ids[name]! });
const ARGUMENTS: Readonly<Record<string, () => Arguments>> = {
  get_endpoint: given('endpointId'),
  create_endpoint: () => ({ path: `/made${++made}`, priceUsd: '0.02', upstreamUrl: 'https://api.example.com/made' }),
  update_endpoint: () => ({ endpointId: ids.endpointId!, description: 'Changed' }),
  get_payment: given('paymentId'),
  explain_payment: given('paymentId'),
  get_customer: given('customerId'),
  get_delivery: given('deliveryId'),
  explain_delivery: given('deliveryId'),
  follow_deliveries: () => ({ waitSeconds: 1 }),
  resend_delivery: given('deliveryId'),
  prepare_replay: () => ({ status: ['SUCCEEDED', 'PENDING'], webhookId: ids.webhookId! }),
  start_replay: () => ({ confirmation: 'confirm_00000000' }),
  get_replay: given('replayId'),
  cancel_replay: given('replayId'),
  get_webhook: given('webhookId'),
  create_webhook: () => ({ url: 'https://hooks.example.com/in', eventTypes: ['payment.settled'] }),
  send_test_event: given('webhookId'),
  get_connector: given('connectorId'),
  get_event: given('eventId'),
};
const argumentsOf = (name: string) => ARGUMENTS[name]?.() ?? {};

const ALL = TOOLS.map(({ name }) => name);
const READING = ALL.filter((name) => /^(list|get|explain|follow)_/.test(name));
const AROUND_DELIVERIES = [
  ...['list_deliveries', 'get_delivery', 'explain_delivery', 'follow_deliveries', 'resend_delivery'],
  ...['prepare_replay', 'start_replay', 'get_replay', 'cancel_replay'],
  ...['list_webhooks', 'get_webhook', 'send_test_event', 'list_connectors', 'get_connector'],
  ...['list_events', 'get_event'],
];

type Credential = { env: Record<string, string>; actorId: string };
const CREDENTIALS: Readonly<Record<string, { open: () => Promise<Credential>; offers: readonly string[] }>> = {
  'an API key with READ': { open: withScopes('READ'), offers: READING },
  'an API key with DELIVERIES': { open: withScopes('DELIVERIES'), offers: AROUND_DELIVERIES },
  'an API key with PAYMENTS': {
    open: withScopes('PAYMENTS'),
    offers: ['list_payments', 'get_payment', 'explain_payment', 'list_customers', 'get_customer', 'get_revenue'],
  },
  'an API key with WRITE': { open: withScopes('WRITE'), offers: ['create_endpoint', 'create_webhook'] },
  'an API key with READ, DELIVERIES, and WRITE': { open: withScopes('READ', 'DELIVERIES', 'WRITE'), offers: ALL },
  'an API key with all scopes': { open: withScopes(...SCOPES), offers: ALL },
  'a member with the role ADMIN': { open: withRole('ADMIN'), offers: ALL },
  'a member with the role VIEWER': { open: withRole('VIEWER'), offers: READING },
};

function withScopes(...scopes: string[]) {
  return async (): Promise<Credential> => {
    const { id, key } = await createKey(alice, base, { scopes });
    return { env: { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key }, actorId: id };
  };
}

function withRole(role: 'ADMIN' | 'VIEWER') {
  return async (): Promise<Credential> => {
    const member = await person(app, role.toLowerCase(), 'ENTERPRISE');
    const { userId } = await join(alice, base, member, role);
    return {
      env: { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: member.token, TOLLGATE_PROJECT: projectId },
      actorId: userId as string,
    };
  };
}

/** Calls tools without first checking the credential's permissions, so the service has to reject the calls. */
async function callAnyway({ env }: Credential, names: readonly string[]): Promise<Record<string, string>> {
  const credential = (env.TOLLGATE_API_KEY ?? env.TOLLGATE_TOKEN)!;
  const server = createMcpServer({ url: app.url, credential, projectId, granted: 'unknown' });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const [atClient, atServer] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(atServer), client.connect(atClient)]);
  const responses: Record<string, string> = {};
  for (const name of names) {
    const { isError, content } = await client.callTool({ name, arguments: argumentsOf(name) });
    const [{ text }] = content as [{ text: string }];
    responses[name] = `${isError ? 'refused' : 'done'}: ${text}`;
  }
  await client.close();
  return responses;
}

async function entriesOf(actorId: string): Promise<Entry[]> {
  return (await alice.rest<Page<Entry>>('GET', `${base}/audit-log?limit=100&actorId=${actorId}`)).body.data;
}

describe.each(Object.keys(CREDENTIALS))('for %s, the MCP server', (name) => {
  const { open, offers } = CREDENTIALS[name]!;
  let credential: Credential;

  beforeAll(async () => {
    credential = await open();
  });

  test('lists the tools that work, and the service rejects calls to all others', async () => {
    await using mcp = await openMcp(credential.env);
    const { tools } = await mcp.client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(ALL.filter((tool) => offers.includes(tool)));

    let confirmation: unknown;
    for (const tool of tools) {
      const args = tool.name === 'start_replay' ? { confirmation } : argumentsOf(tool.name);
      const { isError, text, structured } = await mcp.call(tool.name, args);
      expect({ tool: tool.name, isError, text }).toMatchObject({ isError: false });
      if (tool.name === 'prepare_replay') ({ confirmation } = structured!);
    }

    // A replay can start only after it has been counted, and counting it is rejected.
    const missing = ALL.filter((tool) => !offers.includes(tool) && tool !== 'start_replay');
    for (const [tool, response] of Object.entries(await callAnyway(credential, missing)))
      expect({ tool, response }).toMatchObject({
        response: expect.stringMatching(/^refused: FORBIDDEN: .*(does not have the scope|Your role .* is VIEWER)/),
      });

    const entries = await entriesOf(credential.actorId);
    const calls = entries.filter(({ action }) => action === 'mcp.tool_called');
    expect(calls.map(({ changes }) => changes.tool).sort()).toEqual([...offers, ...missing].sort());
    for (const { changes, client } of calls) expect(client).toBe(`mcp/${changes.tool}`);
    const changed = entries.filter(({ action }) => !['mcp.tool_called', 'invitation.accepted'].includes(action));
    for (const { client } of changed) expect(client).toMatch(/^mcp\/(create|update|start|cancel)_/);
  });
});

describe('while the MCP server is running', () => {
  test('a revoked API key gives a clear error', async () => {
    const { id, key } = await createKey(alice, base);
    await using mcp = await openMcp({ TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key });
    expect(await mcp.call('get_project')).toMatchObject({ isError: false });
    expect((await alice.rest('DELETE', `${base}/keys/${id}`)).status).toBeLessThan(300);
    const { isError, text } = await mcp.call('get_project');
    expect({ isError, text }).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^UNAUTHENTICATED: The API key has been revoked\. .*restarts the MCP server/),
    });
  });

  test('an expired API key gives a clear error', async () => {
    const { id, key } = await createKey(alice, base, { expiresAt: new Date(Date.now() + 86_400_000).toISOString() });
    await using mcp = await openMcp({ TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key });
    expect(await mcp.call('list_events')).toMatchObject({ isError: false });
    const sql = new pg.Client({ connectionString: app.databaseUrl });
    await sql.connect();
    await sql.query(`UPDATE "ApiKey" SET "expiresAt" = now() - interval '1 second' WHERE id = $1`, [id]);
    await sql.end();
    const { isError, text } = await mcp.call('list_events');
    expect({ isError, text }).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^UNAUTHENTICATED: The API key has expired\. .*restarts the MCP server/),
    });
  });

  test('a member who is demoted or removed gives a clear error', async () => {
    const bob = await person(app, 'bob', 'ENTERPRISE');
    const { id } = await join(alice, base, bob, 'DEVELOPER');
    await using mcp = await openMcp({
      TOLLGATE_URL: app.url,
      TOLLGATE_TOKEN: bob.token,
      TOLLGATE_PROJECT: projectId,
    });
    expect(await mcp.call('create_endpoint', argumentsOf('create_endpoint'))).toMatchObject({ isError: false });
    const demoted = await alice.rest('PATCH', `${base}/members/${id}`, { role: 'VIEWER' });
    expect(demoted.status, JSON.stringify(demoted.body)).toBe(200);
    expect(await mcp.call('create_endpoint', argumentsOf('create_endpoint'))).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^FORBIDDEN: Your role in this project is VIEWER\./),
    });
    expect((await alice.rest('DELETE', `${base}/members/${id}`)).status).toBeLessThan(300);
    expect(await mcp.call('get_project')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^NOT_FOUND: /),
    });
  });
});
