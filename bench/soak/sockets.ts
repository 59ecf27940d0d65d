import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { now } from '../support/child.ts';
import type { Marks, TimeCollector } from './marks.ts';

const SUBSCRIPTION = `
  subscription ($projectId: ID!, $after: String) {
    eventRecorded(projectId: $projectId, after: $after, types: [ENDPOINT_PRICING_CHANGED]) { cursor event { data } }
  }`;
/** How long a client stays connected. */
const MIN_STAY_MILLISECONDS = 10_000;
const MAX_STAY_MILLISECONDS = 60_000;
const RETRY_MILLISECONDS = 500;

type Frame = {
  type: string;
  payload?: { data?: { eventRecorded: { cursor: string; event: { data: { priceUsd: string } } } } };
};

/** A client that comes and goes. It continues where it left off, so it must see every event. */
export type Dashboard = Awaited<ReturnType<typeof openDashboard>>;

export async function openDashboard(options: {
  url: string;
  projectId: string;
  token: () => Promise<string>;
  marks: Marks;
  times: TimeCollector;
}) {
  const { url, projectId, token, marks, times } = options;
  const seen = new Set<number>();
  let cursor: string | null = null;
  let isEnding = false;
  let connections = 0;
  let socket: WebSocket | undefined;
  const started = Promise.withResolvers<void>();

  async function stay(): Promise<void> {
    socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    const closed = once(socket, 'close');
    // Errors are followed by `close`.
    socket.on('error', () => {});
    const opened = await Promise.race([once(socket, 'open').then(() => true), closed.then(() => false)]);
    if (!opened) return;
    connections += 1;
    const openedAt = now();
    socket.on('message', (message: Buffer) => read(JSON.parse(message.toString()), openedAt));
    socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${await token()}` } }));
    const stayMilliseconds = MIN_STAY_MILLISECONDS + Math.random() * (MAX_STAY_MILLISECONDS - MIN_STAY_MILLISECONDS);
    const timer = setTimeout(() => socket?.close(), stayMilliseconds);
    await closed;
    clearTimeout(timer);
  }

  function read({ type, payload }: Frame, openedAt: number): void {
    if (type === 'connection_ack') {
      const subscription = { query: SUBSCRIPTION, variables: { projectId, after: cursor } };
      socket?.send(JSON.stringify({ id: '1', type: 'subscribe', payload: subscription }));
      started.resolve();
    }
    if (type === 'error' || type === 'complete') socket?.close();
    const frame = payload?.data?.eventRecorded;
    if (type !== 'next' || !frame) return;
    cursor = frame.cursor;
    const number = marks.numberOf(frame.event.data.priceUsd);
    const sentAt = marks.sentAt(number);
    // Events from before the connection don't count, because they were waiting for the client.
    if (!seen.has(number) && sentAt > openedAt) times.add('frames', now() - sentAt);
    seen.add(number);
  }

  const running = (async () => {
    while (!isEnding) {
      await stay();
      if (!isEnding) await sleep(RETRY_MILLISECONDS);
    }
  })();
  await started.promise;
  return {
    projectId,
    seen,
    connections: () => connections,
    hasCursor: () => cursor !== null,
    async close(): Promise<void> {
      isEnding = true;
      socket?.close();
      await running;
    },
  };
}
