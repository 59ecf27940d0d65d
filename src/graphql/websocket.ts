import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { DocumentNode, GraphQLError } from 'graphql';
import type { OperationResult } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import type { Admission } from '../http/admission.ts';
import { runInRequest } from '../http/request-context.ts';
import type { GraphQLContext } from './context.ts';
import { createErrorMask } from './errors.ts';
import type { Streams } from './streams.ts';
import type { GraphQLServer } from './yoga.ts';

const PATH = '/graphql';
const MAX_MESSAGE_BYTES = 256 * 1024;
const MAX_SUBSCRIPTIONS_PER_SOCKET = 20;
/** A consumer this far behind is cut off: it can come back with the cursor it has reached. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
const PING_MILLISECONDS = 20_000;

/** Close codes: graphql-transport-ws's own for refused credentials, RFC 6455's for the rest. */
const CLOSE = { forbidden: 4403, tryAgainLater: 1013, goingAway: 1001 } as const;

/** What is known of a socket once it is connected. */
type SocketState = { viewer: Viewer; requestId: string; release: () => void; subscriptions: number };
type SocketExtra = Record<PropertyKey, unknown> & { state: SocketState };

/** Serves subscriptions, and any other operation, over WebSocket (graphql-transport-ws) at `/graphql`. */
export function serveWebSocket(
  httpServer: Server,
  options: {
    server: GraphQLServer;
    admission: Admission;
    streams: Streams;
    log: Logger;
    addressOf(request: IncomingMessage): string;
    contextOf(viewer: Viewer, requestId: string): GraphQLContext;
  },
): { close(): Promise<void> } {
  const { server, admission, streams, log, contextOf } = options;
  const maskError = createErrorMask(log);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });

  const disposable = useServer<Record<string, unknown>, SocketExtra>(
    {
      async onConnect({ connectionParams, extra }) {
        const authorization = readAuthorization(connectionParams);
        try {
          const viewer = await admission.identify(authorization, options.addressOf(extra.request));
          const release = streams.open(viewer, authorization!, () =>
            extra.socket.close(CLOSE.forbidden, 'The credential has ended'),
          );
          extra.state = { viewer, requestId: `req_${randomUUID()}`, release, subscriptions: 0 };
          return true;
        } catch (error) {
          if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return false;
          if (!(error instanceof AppError)) log.error({ err: error }, 'websocket: not connected');
          extra.socket.close(CLOSE.tryAgainLater, 'Try again later');
          return false;
        }
      },
      onSubscribe: ({ extra }, _id, { query, operationName, variables }) => {
        const state = extra.state!;
        return runInRequest({ requestId: state.requestId }, async () => {
          try {
            if (state.subscriptions >= MAX_SUBSCRIPTIONS_PER_SOCKET) {
              throw new AppError('RATE_LIMITED', {
                detail: `A socket carries at most ${MAX_SUBSCRIPTIONS_PER_SOCKET} operations.`,
              });
            }
            await admission.count(state.viewer);
            const { schema, parse, validate, execute, subscribe, contextFactory } = server.yoga.getEnveloped(
              contextOf(state.viewer, state.requestId),
            );
            const document: DocumentNode = parse(query);
            const errors: readonly GraphQLError[] = validate(schema, document);
            if (errors.length > 0) return errors.map((error) => maskError(error) as GraphQLError);
            state.subscriptions += 1;
            return {
              schema,
              document,
              operationName,
              variableValues: variables,
              contextValue: await contextFactory(),
              rootValue: { execute, subscribe },
            };
          } catch (error) {
            return [maskError(error) as GraphQLError];
          }
        });
      },
      execute: (args) => within(args, () => (args.rootValue as Enveloped).execute(args)),
      subscribe: (args) => within(args, () => (args.rootValue as Enveloped).subscribe(args)),
      onNext({ extra }) {
        if (extra.socket.bufferedAmount > MAX_BUFFERED_BYTES) {
          extra.socket.close(CLOSE.tryAgainLater, 'Too slow; come back with the last cursor');
        }
      },
      onComplete({ extra }) {
        extra.state!.subscriptions -= 1;
      },
      onDisconnect: ({ extra }) => extra.state?.release(),
      onClose: ({ extra }) => extra.state?.release(),
    },
    sockets,
    PING_MILLISECONDS,
  );

  async function within(
    args: { contextValue?: unknown },
    run: () => OperationResult,
  ): Promise<Awaited<OperationResult>> {
    const { requestId } = args.contextValue as GraphQLContext;
    try {
      return await runInRequest({ requestId }, run);
    } catch (error) {
      return { errors: [maskError(error) as GraphQLError] };
    }
  }

  httpServer.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.url?.split('?')[0] !== PATH) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client: WebSocket) => sockets.emit('connection', client, request));
  });

  return {
    async close() {
      for (const client of sockets.clients) client.close(CLOSE.goingAway, 'The server is going away');
      await disposable.dispose();
    },
  };
}

type Enveloped = { execute(args: unknown): OperationResult; subscribe(args: unknown): OperationResult };

/** `connection_init` carries the credential as an HTTP request would: `{ "Authorization": "Bearer …" }`. */
function readAuthorization(parameters: Record<string, unknown> | undefined): string | undefined {
  const entry = Object.entries(parameters ?? {}).find(([name]) => name.toLowerCase() === 'authorization');
  return typeof entry?.[1] === 'string' ? entry[1] : undefined;
}
