import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ExecutionArgs, GraphQLError, getOperationAST, type OperationDefinitionNode } from 'graphql';
import { handleProtocols, makeServer, type OperationResult } from 'graphql-ws';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { IdentifyAgain, Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import type { Authentication } from '../http/authentication.ts';
import { hasEnded, isForbidden, type WatchEnd } from '../http/credential-watch.ts';
import { requireSimple } from '../http/json-body.ts';
import { createUnauthenticatedConnections } from '../limits/unauthenticated-connections.ts';
import { runInRequest } from '../request-context.ts';
import type { GraphQLContext } from '../schema/context.ts';
import type { ConsoleReads } from './console-reads.ts';
import { keepOnlyFrames, requireReceiver } from './frame-memory.ts';
import { createMessageTurns, takeMessageTurns } from './message-turns.ts';
import { createSocketOperations, type SocketOperation, type SocketOperations } from './socket-operations.ts';
import { attachTransport, type SocketHandle } from './socket-transport.ts';
import type { Streams } from './streams.ts';
import type { GraphQLServer } from './yoga.ts';

const MAX_MESSAGE_BYTES = 256 * 1024;
/**
 * The number of frames that a message can have, which is enough for parts of 4 KB. Each of them takes hundreds of bytes of
 * memory in addition to its own until the message is complete.
 */
const MAX_FRAMES = 64;
/** The number of reads in which a frame can arrive. Each of them takes hundreds of bytes of memory until it is complete. */
const MAX_CHUNKS = 1_024;
const PING_MILLISECONDS = 20_000;
/**
 * How long a client may take to send its credential, because many get a token only once their socket is open. Other
 * servers wait between 3 seconds (graphql-ws) and a minute (Spring, Strawberry). What unauthenticated clients can hold
 * until then is limited by `createUnauthenticatedConnections`. HTTP requests may also take this long.
 */
const INIT_MILLISECONDS = 30_000;
/** Sockets that don't complete the closing handshake within this time are terminated. */
const CLOSING_MILLISECONDS = 1_000;

/**
 * Close codes. The one for rejected credentials is from graphql-transport-ws, and the others are from RFC 6455 and its
 * registry.
 */
const CLOSE = { forbidden: 4403, tryAgainLater: 1013, restart: 1012, goingAway: 1001 } as const;
const CREDENTIAL_ENDED = 'The credential has expired or been revoked, or the account is blocked';

/** A socket's state. The last three are set once it is connected. */
type SocketState = SocketHandle & {
  address: string;
  operations: SocketOperations;
  /** Stops counting the socket as unauthenticated. */
  leave(): void;
  authorization?: string;
  requestId?: string;
  release?: () => void;
} & Record<PropertyKey, unknown>;

/** The arguments that `prepare` returns. */
type Prepared = ExecutionArgs & { operation: SocketOperation };
type Enveloped = ReturnType<GraphQLServer['yoga']['getEnveloped']>;

export type WebSocketOptions = {
  server: GraphQLServer;
  authentication: Authentication;
  streams: Streams;
  consoleReads: ConsoleReads;
  log: Logger;
  addressOf(request: IncomingMessage): string;
  contextOf(viewer: Viewer, requestId: string, identifyAgain: IdentifyAgain): GraphQLContext;
  /** How often a client must prove that it is reading from its socket. */
  pingMilliseconds?: number;
  /** How long a client may take to send `connection_init`. */
  initMilliseconds?: number;
};

/** Serves subscriptions, and any other operation, over WebSocket (graphql-transport-ws) at `/graphql`. */
export function serveWebSocket(httpServer: Server, options: WebSocketOptions): { close(): Promise<void> } {
  const { server, authentication, streams, consoleReads, log, contextOf } = options;
  const { maskError } = server;
  requireReceiver();
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols,
    maxPayload: MAX_MESSAGE_BYTES,
    maxFragments: MAX_FRAMES,
    maxBufferedChunks: MAX_CHUNKS,
    // Otherwise, thousands of messages that were read together would be handled before anything else.
    allowSynchronousEvents: false,
  });
  const unauthenticated = createUnauthenticatedConnections();
  const turns = createMessageTurns();
  /** The functions that stop counting a request's socket as unauthenticated. */
  const leaves = new WeakMap<IncomingMessage, () => void>();

  async function connect(state: SocketState, parameters: Record<string, unknown> | undefined): Promise<boolean> {
    const { socket } = state;
    const authorization = readAuthorization(parameters);
    try {
      const viewer = await authentication.identify(authorization, state.address);
      // If the socket has closed in the meantime, don't open a stream, because nothing would release it.
      if (socket.readyState !== socket.OPEN) return false;
      const end = (why: WatchEnd) =>
        why === 'credential'
          ? socket.close(CLOSE.forbidden, CREDENTIAL_ENDED)
          : socket.close(CLOSE.restart, 'Your projects have changed; connect again');
      Object.assign(state, {
        authorization,
        requestId: `req_${randomUUID()}`,
        release: streams.open(viewer, { authorization: authorization!, address: state.address }, end),
      });
      state.backlog.belongTo(viewer.userId);
      state.leave();
      return true;
    } catch (error) {
      if (hasEnded(error)) return false;
      if (isForbidden(error)) {
        state.close(CLOSE.forbidden, error.message);
        return false;
      }
      if (!(error instanceof AppError)) log.error({ err: error }, 'websocket: could not connect');
      state.close(CLOSE.tryAgainLater, 'Try again later');
      return false;
    }
  }

  /** Admits and counts every operation as a separate request, based on the account's current state. */
  async function prepare(state: SocketState, payload: OperationPayload) {
    const { authorization, address, requestId, socket, backlog, operations } = state;
    let operation: SocketOperation | undefined;
    const refuse = (errors: readonly unknown[]) => {
      operation?.end();
      return errors.map(toSocketError);
    };
    try {
      operation = operations.start();
      requireSimple(payload, 'The operation');
      const identify = () => authentication.identify(authorization, address);
      const viewer = await identify();
      const count = consoleReads.include(payload.query) ? authentication.countConsoleRead : authentication.count;
      await count(viewer);
      const countMore = async (requests: number) => void (await authentication.countMore(viewer, requests));
      const context = { ...contextOf(viewer, requestId!, identify), backlog, countMore };
      const enveloped: Enveloped = server.yoga.getEnveloped(context);
      const { schema, parse, validate, contextFactory } = enveloped;
      const document = parse(payload.query);
      const errors: readonly GraphQLError[] = validate(schema, document);
      if (errors.length > 0) return refuse(errors);
      const definition = getOperationAST(document, payload.operationName);
      if (!definition) {
        return refuse([
          new GraphQLError('The document must contain one operation, or the one that `operationName` names.'),
        ]);
      }
      keepOnlyNeeded(payload, definition);
      return {
        schema,
        document,
        operationName: payload.operationName,
        variableValues: payload.variables,
        contextValue: await contextFactory(),
        rootValue: enveloped,
        operation,
      };
    } catch (error) {
      if (hasEnded(error)) socket.close(CLOSE.forbidden, CREDENTIAL_ENDED);
      return refuse([error]);
    }
  }

  async function run(args: ExecutionArgs, start: () => OperationResult) {
    const { requestId } = args.contextValue as GraphQLContext;
    const { operation } = args as Prepared;
    try {
      const result = await runInRequest({ requestId }, start);
      if (Symbol.asyncIterator in result) return operation.endWith(maskFailures(result, requestId));
      operation.end();
      return result.errors ? { ...result, errors: result.errors.map(withoutStatus) } : result;
    } catch (error) {
      operation.end();
      return { errors: [toSocketError(error)] };
    }
  }

  const toSocketError = (error: unknown) => withoutStatus(maskError(error));

  /** Masks a failed stream's error, which the protocol would pass on unchanged. */
  function maskFailures<T>(results: AsyncIterable<T>, requestId: string): AsyncIterableIterator<T> {
    const iterator = results[Symbol.asyncIterator]();
    return {
      next: () =>
        runInRequest({ requestId }, () => iterator.next()).catch((error) => {
          throw runInRequest({ requestId }, () => toSocketError(error));
        }),
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  const protocol = makeServer<Record<string, unknown>, SocketState>({
    connectionInitWaitTimeout: options.initMilliseconds ?? INIT_MILLISECONDS,
    onConnect(context) {
      const { extra, connectionParams } = context;
      // The library would keep them as long as the socket is open. They can take 20 times as much memory as the message.
      delete (context as { connectionParams?: unknown }).connectionParams;
      return connect(extra, connectionParams);
    },
    onSubscribe: ({ extra }, _id, payload) =>
      runInRequest({ requestId: extra.requestId! }, () => prepare(extra, payload)),
    execute: (args) => run(args, () => (args.rootValue as Enveloped).execute(args)),
    subscribe: (args) => run(args, () => (args.rootValue as Enveloped).subscribe(args)),
  });
  attachTransport(protocol, sockets, {
    log,
    backlogs: streams.backlogs,
    pingMilliseconds: options.pingMilliseconds ?? PING_MILLISECONDS,
    unauthenticatedOwnerOf: (request) => `unauthenticated at ${options.addressOf(request)}`,
    extraOf: (handle): SocketState => ({
      ...handle,
      address: options.addressOf(handle.request),
      operations: createSocketOperations({
        flood: () => handle.close(CLOSE.tryAgainLater, 'Too many operations; connect again'),
        error: (error) => log.debug({ err: error }, "a subscription's end failed"),
      }),
      leave: leaves.get(handle.request)!,
    }),
    isUnauthenticated: ({ release }) => release === undefined,
    // The stream stays reserved until the socket has closed, because data may still be waiting for it.
    onGone({ operations, release }) {
      operations.close();
      release?.();
    },
  });

  httpServer.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    let opened: WebSocket | undefined;
    const address = options.addressOf(request);
    const leave = unauthenticated.enter(address, () => {
      opened?.close(CLOSE.tryAgainLater, 'Too many sockets are waiting for a credential; connect again');
      // Don't wait for the client to close its side.
      socket.destroy();
    });
    socket.once('close', leave);
    leaves.set(request, leave);
    sockets.handleUpgrade(request, socket, head, (client) => {
      opened = client;
      keepOnlyFrames(client);
      takeMessageTurns(client, socket, address, turns);
      sockets.emit('connection', client, request);
    });
  });

  async function closeSocket(socket: WebSocket): Promise<void> {
    const closed = once(socket, 'close');
    socket.close(CLOSE.goingAway, 'The server is shutting down');
    await Promise.race([closed, sleep(CLOSING_MILLISECONDS)]);
    socket.terminate();
    await closed;
  }

  return {
    async close() {
      await Promise.all([...sockets.clients].map(closeSocket));
      sockets.close();
    },
  };
}

type OperationPayload = {
  query: string;
  operationName?: string | null | undefined;
  variables?: Record<string, unknown> | null | undefined;
  extensions?: unknown;
};

/** Removes what an operation doesn't use. The library keeps it until the operation ends, and it can take 5 MB. */
function keepOnlyNeeded(payload: OperationPayload, { variableDefinitions = [] }: OperationDefinitionNode): void {
  const names = new Set(variableDefinitions.map(({ variable }) => variable.name.value));
  const variables = Object.entries(payload.variables ?? {}).filter(([name]) => names.has(name));
  payload.variables = Object.fromEntries(variables);
  delete payload.extensions;
}

/** The credential from `connection_init`, which has the form of an HTTP header: `{ "Authorization": "Bearer …" }`. */
function readAuthorization(parameters: Record<string, unknown> | undefined): string | undefined {
  const entry = Object.entries(parameters ?? {}).find(([name]) => name.toLowerCase() === 'authorization');
  return typeof entry?.[1] === 'string' ? entry[1] : undefined;
}

/** Removes the HTTP status. Yoga does that only for HTTP responses. */
function withoutStatus(error: GraphQLError): GraphQLError {
  delete error.extensions.http;
  return error;
}
