/** A process with many subscriptions, each on its own socket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { millisecondsOfId } from '../../src/ids.ts';
import { serve } from '../support/child.ts';

export type Dashboard = { token: string; projectId: string };

const SUBSCRIPTION = `
  subscription ($projectId: ID!) {
    eventRecorded(projectId: $projectId) { cursor event { id type timestamp data } }
  }`;
const OPENING_AT_ONCE = 50;

const sockets: WebSocket[] = [];
/** The delay of each frame, from the time in the event's ID until the frame arrived. */
let latencies: number[] = [];

function onMessage(message: Buffer): void {
  const text = message.toString('latin1');
  if (text.includes('"error"')) throw new Error(text);
  const at = text.indexOf('"evt_');
  if (at === -1) return;
  latencies.push(Date.now() - millisecondsOfId(text.slice(at + 1, text.indexOf('"', at + 1))));
}

async function open(url: string, { token, projectId }: Dashboard): Promise<void> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  sockets.push(socket);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } }));
  await once(socket, 'message');
  const payload = { query: SUBSCRIPTION, variables: { projectId } };
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }));
  socket.on('message', onMessage);
}

const methods = {
  async open(url: string, dashboards: Dashboard[]): Promise<void> {
    for (let start = 0; start < dashboards.length; start += OPENING_AT_ONCE) {
      await Promise.all(dashboards.slice(start, start + OPENING_AT_ONCE).map((dashboard) => open(url, dashboard)));
    }
  },
  frameCount: (): number => latencies.length,
  openCount: (): number => sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length,
  /** Returns the latencies in milliseconds since the last call. */
  takeLatencies(): number[] {
    const taken = latencies;
    latencies = [];
    return taken;
  },
  async close(): Promise<void> {
    await Promise.all(
      sockets.splice(0).map((socket) => {
        socket.close();
        return once(socket, 'close');
      }),
    );
  },
};

export type DashboardMethods = typeof methods;
serve(methods);
