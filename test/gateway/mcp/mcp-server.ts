import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  isInitializeRequest,
  type JSONRPCMessage,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';

/** How a server responds: with sessions or without, and with JSON or with event streams. */
type McpServerKind = { isStateful: boolean; isJson: boolean };

export type McpServer = {
  url: string;
  /** The method of every HTTP request, with the JSON-RPC method of a POST, for example, `POST tools/list`. */
  requests: string[];
  /** The bodies as they arrived, oldest first. */
  bodies: string[];
  /** The tools that ran. */
  calls: string[];
  /** The sessions that are open. */
  sessionCount(): number;
  /** Ends the calls of `wait` that are running. */
  endWaits(): void;
  /** Sends a notification to every open session, on its GET stream. */
  announce(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Starts an MCP server that is built from the official package, with the tools `echo`, `fail` (a result with `isError`),
 * `throw` (a JSON-RPC error), `progress` (notifications before the result), `later` (ends its stream before the result,
 * which the client fetches with GET), and `wait` (ends when the test says so, even if it was canceled).
 */
export async function startMcpServer({ isStateful, isJson }: McpServerKind): Promise<McpServer> {
  const requests: string[] = [];
  const bodies: string[] = [];
  const calls: string[] = [];
  const waits: (() => void)[] = [];
  const sessions = new Map<string, { server: Server; transport: StreamableHTTPServerTransport }>();

  function createTools(): Server {
    const server = new Server(
      { name: 'tools', version: '1.0.0' },
      { capabilities: { logging: {}, tools: { listChanged: true } } },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: ['echo', 'fail', 'throw', 'progress', 'later', 'wait'].map((name) => ({
        name,
        inputSchema: { type: 'object' as const },
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { closeSSEStream, sendNotification }) => {
      calls.push(params.name);
      if (params.name === 'throw') throw new McpError(ErrorCode.InvalidParams, 'No such city');
      if (params.name === 'fail') return { content: [{ type: 'text', text: 'No such city' }], isError: true };
      if (params.name === 'progress') {
        for (const data of ['one', 'two'])
          await sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
        const { progressToken = '' } = params._meta ?? {};
        await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
      }
      if (params.name === 'wait') await new Promise<void>((resolve) => waits.push(resolve));
      if (params.name === 'later') closeSSEStream?.();
      return { content: [{ type: 'text', text: JSON.stringify(params.arguments ?? {}) }] };
    });
    return server;
  }

  async function open(): Promise<StreamableHTTPServerTransport> {
    const server = createTools();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: isStateful ? randomUUID : undefined,
      enableJsonResponse: isJson,
      retryInterval: 10,
      ...(isStateful && !isJson && { eventStore: createEventStore() }),
      onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    bodies.push(body.toString());
    const message = body.length > 0 ? JSON.parse(body.toString()) : undefined;
    requests.push(message ? `${request.method} ${message.method}` : request.method!);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id)?.transport : undefined;
    if (!isStateful && request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    if (isStateful && !known && !isInitializeRequest(message)) {
      response.writeHead(404).end();
      return;
    }
    const transport = known ?? (await open());
    if (!isStateful) response.once('close', () => void transport.close());
    await transport.handleRequest(request, response, message);
  }

  const http = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => http.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    bodies,
    calls,
    sessionCount: () => sessions.size,
    endWaits() {
      for (const end of waits.splice(0)) end();
    },
    async announce() {
      for (const { server } of sessions.values()) await server.sendToolListChanged();
    },
    async close() {
      for (const { transport } of sessions.values()) await transport.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** Stores events in memory, so clients can continue a stream that has ended. */
function createEventStore(): EventStore {
  const events: { id: string; streamId: string; message: JSONRPCMessage }[] = [];
  return {
    async storeEvent(streamId, message) {
      const id = `${streamId}_${events.length}`;
      events.push({ id, streamId, message });
      return id;
    },
    async replayEventsAfter(lastId, { send }) {
      const start = events.findIndex(({ id }) => id === lastId);
      const { streamId } = events[start]!;
      for (const event of events.slice(start + 1)) {
        if (event.streamId === streamId && Object.keys(event.message).length > 0) await send(event.id, event.message);
      }
      return streamId;
    },
  };
}
