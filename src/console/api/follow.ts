import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import type { Client } from 'graphql-ws';
import { formatDocument, stringifyDocument } from 'urql';

/**
 * `live`: updates arrive immediately. `offline`: the connection was lost, or the service is unavailable, and the console
 * is trying again.
 */
export type FollowState = 'connecting' | 'live' | 'offline' | 'failed';

export type FollowVariables = { projectId: string; after?: string | null | undefined };

export type FollowOptions<Data, Variables extends FollowVariables> = {
  /** Reads the cursor that the subscription starts from. */
  cursor: TypedDocumentNode<{ project?: { liveCursors: { now: string } } | null }, { projectId: string }>;
  document: TypedDocumentNode<Data, Variables>;
  variables: Omit<Variables, 'after'>;
  /** Handles an update and returns its cursor. */
  onData(data: Data): string | undefined;
  /** Called once, when the subscription is live. Use it to fetch what changed before the subscription's cursor with a query. */
  onStart(): void;
};

const FIRST_WAIT_MILLISECONDS = 500;
const LONGEST_WAIT_MILLISECONDS = 5_000;
/** After a subscription has been live for this long, its connection counts as good. */
const STEADY_MILLISECONDS = 10_000;

/**
 * Each client's open connection. All subscriptions share it. Subscriptions that start later miss its `connected` event.
 */
const connections = new WeakMap<Client, { current: unknown }>();

function connectionOf(socket: Client): { readonly current: unknown } {
  const known = connections.get(socket);
  if (known) return known;
  const connection: { current: unknown } = { current: undefined };
  connections.set(socket, connection);
  socket.on('connected', (opened) => {
    connection.current = opened;
  });
  // An earlier connection may close after the next one has opened.
  socket.on('closed', (event) => {
    if ((event as CloseEvent).target === connection.current) connection.current = undefined;
  });
  return connection;
}

/**
 * Follows a subscription until it is stopped. It starts from a cursor, because nothing shows when a subscription has started,
 * and updates between the page's query and the start would be missed. After a lost connection or a temporary error, it
 * continues from the last cursor, and the same update can arrive twice.
 *
 * @returns a function that stops it.
 */
export function follow<Data, Variables extends FollowVariables>(
  socket: Client,
  options: FollowOptions<Data, Variables> & { onState(state: FollowState): void },
): () => void {
  const { variables, onData, onStart, onState } = options;
  // With `__typename`, it has the text that the service knows as the console's.
  const cursorQuery = stringifyDocument(formatDocument(options.cursor));
  const query = stringifyDocument(options.document);
  const connection = connectionOf(socket);
  let after: string | undefined;
  /** At first, and after an error, because a successful query shows that the service works again. */
  let needsCursor = true;
  let hasStarted = false;
  let liveSince: number | undefined;
  let wait = FIRST_WAIT_MILLISECONDS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let end = () => {};

  const stopListening = socket.on('connected', () => {
    if (timer !== undefined) connect();
    else if (!needsCursor) becomeLive();
  });
  window.addEventListener('online', connectSooner);
  connect();

  function connectSooner(): void {
    if (timer !== undefined) connect();
  }

  function connect(): void {
    clearTimeout(timer);
    timer = undefined;
    if (needsCursor) readCursor();
    else subscribe();
  }

  function readCursor(): void {
    const { projectId } = variables;
    run<{ project?: { liveCursors: { now: string } } | null }>(cursorQuery, { projectId }, ({ project }) => {
      if (!project) return fail();
      needsCursor = false;
      after ??= project.liveCursors.now;
      subscribe();
    });
  }

  function subscribe(): void {
    run<Data>(query, { ...variables, after }, (data) => {
      after = onData(data) ?? after;
    });
    if (connection.current !== undefined) becomeLive();
  }

  function becomeLive(): void {
    onState('live');
    liveSince ??= performance.now();
    if (!hasStarted) onStart();
    hasStarted = true;
  }

  /** Runs an operation in place of the last one. Tries again if it ends. */
  function run<Result>(text: string, values: Record<string, unknown>, onResult: (data: Result) => void): void {
    end();
    let isCurrent = true;
    const unsubscribe = socket.subscribe<Result>(
      { query: text, variables: values },
      {
        next({ data, errors }) {
          if (!isCurrent) return;
          if (errors) refuse(errors);
          else if (data) onResult(data);
        },
        error(reason) {
          if (!isCurrent) return;
          if (Array.isArray(reason)) refuse(reason);
          else retry();
        },
        complete() {
          if (isCurrent) retry();
        },
      },
    );
    end = () => {
      isCurrent = false;
      unsubscribe();
    };
  }

  function retry(): void {
    end();
    onState('offline');
    // A service that accepts connections may still refuse subscriptions, or end them soon.
    if (liveSince !== undefined && performance.now() - liveSince > STEADY_MILLISECONDS) wait = FIRST_WAIT_MILLISECONDS;
    liveSince = undefined;
    // With jitter, because otherwise all clients would reconnect at the same time after a server restart.
    timer = setTimeout(connect, wait * (0.5 + Math.random()));
    wait = Math.min(wait * 2, LONGEST_WAIT_MILLISECONDS);
  }

  /** The service responded with errors. */
  function refuse(errors: readonly { extensions?: Record<string, unknown> }[]): void {
    needsCursor = true;
    if (errors.every(({ extensions }) => extensions?.retryable === true)) retry();
    else fail();
  }

  function fail(): void {
    stop();
    onState('failed');
  }

  function stop(): void {
    clearTimeout(timer);
    stopListening();
    window.removeEventListener('online', connectSooner);
    end();
  }
  return stop;
}
