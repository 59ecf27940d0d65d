import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createShop, decodeHeader, payingFetch, type Rails, startRails } from '../support.ts';
import { type McpServer, startMcpServer } from './mcp-server.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  app = await startTestApp({ env: rails.env });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await rails?.close();
});

/** Opens a session with the official client. `statuses` has a line for each response. */
async function connect(url: string, pays: typeof fetch) {
  const statuses: string[] = [];
  const receipts: { success: boolean; errorReason?: string }[] = [];
  const counted: typeof fetch = async (input, init) => {
    const response = await pays(input, init);
    const { method } = JSON.parse((init?.body as string | undefined) ?? '{}');
    statuses.push(`${init?.method} ${method ?? ''} ${response.status}`.replace('  ', ' '));
    const receipt = response.headers.get('payment-response');
    if (receipt) receipts.push(decodeHeader(receipt));
    return response;
  };
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: counted });
  await client.connect(transport);
  return { client, transport, statuses, receipts };
}

async function open(server: McpServer) {
  const shop = await createShop(app, alice, { '/mcp': { upstreamUrl: `${server.url}/mcp`, protocol: 'MCP' } });
  async function payments(): Promise<string[]> {
    const { rows } = await database.query(
      `SELECT concat_ws(' ', method, status, "failureReason") AS payment FROM "Payment" WHERE "projectId" = $1 ORDER BY id`,
      [shop.projectId],
    );
    return rows.map(({ payment }) => payment);
  }
  return { ...shop, url: `${shop.url}/mcp`, payments };
}

describe.each([
  { isStateful: true, isJson: false },
  { isStateful: true, isJson: true },
  { isStateful: false, isJson: false },
  { isStateful: false, isJson: true },
])('with a server of the official package: %j', (kind) => {
  let server: McpServer;
  let shop: Awaited<ReturnType<typeof open>>;

  beforeAll(async () => {
    server = await startMcpServer(kind);
    shop = await open(server);
  });
  afterAll(() => server?.close());

  test('a client that pays nothing can do everything but call a tool', async () => {
    const { client, transport, statuses } = await connect(shop.url, fetch);
    await client.ping();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    await expect(client.callTool({ name: 'echo' })).rejects.toMatchObject({ code: 402 });
    if (kind.isStateful) {
      const changes: unknown[] = [];
      client.setNotificationHandler(ToolListChangedNotificationSchema, (change) => void changes.push(change));
      await expect.poll(() => server.requests).toContain('GET');
      await expect
        .poll(async () => {
          await server.announce();
          return changes.length;
        })
        .toBeGreaterThan(0);
      await transport.terminateSession();
      expect(server.sessionCount()).toBe(0);
    }
    await client.close();
    expect(statuses.filter((status) => !status.startsWith('GET'))).toEqual([
      ...['POST initialize 200', 'POST notifications/initialized 202', 'POST ping 200', 'POST tools/list 200'],
      'POST tools/call 402',
      ...(kind.isStateful ? ['DELETE 200'] : []),
    ]);
    expect(server.calls).toEqual([]);
    expect(await shop.payments()).toEqual([]);
  });

  test('a client that pays is charged once for each tool call that succeeds', async () => {
    const buyer = await rails.wallet(100_000n);
    const { client, transport, receipts } = await connect(shop.url, payingFetch(buyer));
    await client.listTools();
    const numbers = { amount: 1.5, text: 'Zürich 🙂' };
    const [first, second] = [
      await client.callTool({ name: 'echo', arguments: numbers }),
      await client.callTool({ name: 'echo' }),
    ];
    expect([first, second].map(({ content }) => (content as { text: string }[])[0]!.text)).toEqual([
      JSON.stringify(numbers),
      '{}',
    ]);
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'throw' })).rejects.toMatchObject({ code: -32602 });
    if (kind.isStateful) await transport.terminateSession();
    await client.close();
    expect(await shop.payments()).toEqual([
      ...['POST SETTLED', 'POST SETTLED'],
      ...['POST FAILED tool_error', 'POST FAILED tool_error'],
    ]);
    expect(receipts.map(({ success, errorReason }) => errorReason ?? success)).toEqual([
      ...[true, true],
      ...['tool_error', 'tool_error'],
    ]);
    expect(server.calls).toEqual(['echo', 'echo', 'fail', 'throw']);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(80_000n);
  });

  test('a tool can send notifications before its result', async () => {
    const buyer = await rails.wallet(10_000n);
    const { client } = await connect(shop.url, payingFetch(buyer));
    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    const call = { name: 'progress', arguments: { a: 1 } };
    const { content } = await client.callTool(call, undefined, { onprogress });
    expect(content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    expect(steps).toEqual(kind.isJson ? [] : [1]);
    await client.close();
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });
});

test.each(['an event stream', 'JSON'])(
  'free messages with the ID of a paid call neither cancel it nor get its result, which is %s',
  async (format) => {
    const server = await startMcpServer({ isStateful: true, isJson: format === 'JSON' });
    const shop = await open(server);
    const buyer = await rails.wallet(10_000n);
    const { client, transport } = await connect(shop.url, fetch);
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': transport.sessionId!,
      'mcp-protocol-version': transport.protocolVersion!,
    };
    const ask = (pays: typeof fetch, message: object, signal?: AbortSignal) =>
      pays(shop.url, { method: 'POST', headers, body: JSON.stringify(message), ...(signal && { signal }) });
    const cancellation = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    const paid = ask(payingFetch(buyer), { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'wait' } });
    await expect.poll(() => server.calls).toContain('wait');

    expect((await ask(fetch, cancellation)).status).toBe(202);
    const leaving = new AbortController();
    const batch = [{ jsonrpc: '2.0', id: 7, method: 'ping' }, cancellation];
    // A canceled request gets no response, so its stream stays open.
    const free = ask(fetch, batch, leaving.signal).then((response) => response.text());
    await expect.poll(() => server.bodies.at(-1)).toBe(JSON.stringify(batch));
    server.endWaits();

    const answer = await paid;
    const text = (await answer.text()).replace(/^(?:.*\n)*data: /, '');
    expect([answer.status, JSON.parse(text)]).toEqual([
      200,
      { jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: '{}' }] } },
    ]);
    leaving.abort();
    await expect(free).rejects.toThrow('aborted');
    await client.close();
    expect(await shop.payments()).toEqual(['POST SETTLED']);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    await server.close();
  },
);

test('a result that the client fetches later is paid for', async () => {
  const server = await startMcpServer({ isStateful: true, isJson: false });
  const shop = await open(server);
  const buyer = await rails.wallet(10_000n);
  const { client, statuses } = await connect(shop.url, payingFetch(buyer));
  const { content } = await client.callTool({ name: 'later', arguments: { a: 1 } });
  expect(content).toEqual([{ type: 'text', text: '{"a":1}' }]);
  await client.close();
  expect(statuses.filter((status) => status.includes('tools/call'))).toEqual(['POST tools/call 200']);
  expect(server.requests.filter((one) => one.includes('call'))).toEqual(['POST tools/call']);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  await server.close();
});
