import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import type { Client } from 'graphql-ws';
import { stringifyDocument } from 'urql';

/** `live`: updates arrive immediately. `offline`: the connection was lost and is being reestablished. */
export type FollowState = 'connecting' | 'live' | 'offline' | 'failed';

export type FollowOptions<Data, Variables extends { after?: string | null | undefined }> = {
  document: TypedDocumentNode<Data, Variables>;
  variables: Omit<Variables, 'after'>;
  /** Handles an update and returns its cursor. */
  onData(data: Data): string | undefined;
  onState(state: FollowState): void;
};

const FIRST_WAIT_MILLISECONDS = 500;
const LONGEST_WAIT_MILLISECONDS = 5_000;

/**
 * Each client's open connection. All subscriptions share it. Subscriptions that start later miss its `connected` event.
 */
const connections = new WeakMap<Client, { current: unknown }>();

function isConnected(socket: Client): boolean {
  let connection = connections.get(socket);
  if (!connection) {
    const created: { current: unknown } = { current: undefined };
    connection = created;
    connections.set(socket, created);
    socket.on('connected', (opened) => {
      created.current = opened;
    });
    // An earlier connection may close after the next one has opened.
    socket.on('closed', (event) => {
      if ((event as CloseEvent).target === created.current) created.current = undefined;
    });
  }
  return connection.current !== undefined;
}

/**
 * Follows a subscription until it is stopped. After a lost connection, it continues from the last cursor, so no update
 * is missed, but the same update can arrive twice.
 *
 * @returns a function that stops it.
 */
export function follow<Data, Variables extends { after?: string | null | undefined }>(
  socket: Client,
  { document, variables, onData, onState }: FollowOptions<Data, Variables>,
): () => void {
  const query = stringifyDocument(document);
  let after: string | undefined;
  let wait = FIRST_WAIT_MILLISECONDS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let unsubscribe = () => {};
  let isStopped = false;

  const stopListening = socket.on('connected', () => becomeLive());
  const connectSooner = () => {
    if (timer !== undefined) connect();
  };
  window.addEventListener('online', connectSooner);
  connect();

  function connect(): void {
    clearTimeout(timer);
    timer = undefined;
    const isShared = isConnected(socket);
    unsubscribe = socket.subscribe<Data>(
      { query, variables: { ...variables, after } },
      {
        next({ data, errors }) {
          if (errors) return fail();
          if (!data) return;
          becomeLive();
          after = onData(data) ?? after;
        },
        error: (reason) => (Array.isArray(reason) ? fail() : reconnect()),
        complete: reconnect,
      },
    );
    if (isShared) becomeLive();
  }

  function becomeLive(): void {
    if (isStopped) return;
    wait = FIRST_WAIT_MILLISECONDS;
    onState('live');
  }

  function reconnect(): void {
    if (isStopped || timer !== undefined) return;
    onState('offline');
    // With jitter, because otherwise all clients would reconnect at the same time after a server restart.
    timer = setTimeout(connect, wait * (0.5 + Math.random()));
    wait = Math.min(wait * 2, LONGEST_WAIT_MILLISECONDS);
  }

  /** The service responded with an error, so reconnecting won't help. */
  function fail(): void {
    if (isStopped) return;
    stop();
    onState('failed');
  }

  function stop(): void {
    isStopped = true;
    clearTimeout(timer);
    stopListening();
    window.removeEventListener('online', connectSooner);
    unsubscribe();
  }
  return stop;
}
