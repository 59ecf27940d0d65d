import { WebSocket } from 'ws';

const SUBSCRIPTION = `
  subscription ($projectId: ID!, $after: String) {
    eventRecorded(projectId: $projectId, after: $after, types: [ENDPOINT_PRICING_CHANGED]) { cursor event { data } }
  }`;

type Frame = {
  type: string;
  payload?: { data?: { eventRecorded: { cursor: string; event: { data: { priceUsd: string } } } } };
};

/** One connection to a project's price changes. */
export type PriceFeed = { close(): void; closed: Promise<void> };

/** Follows a project's price changes over a WebSocket, until it closes. The client continues from its last cursor. */
export function followPrices(options: {
  url: string;
  projectId: string;
  token: () => string | Promise<string>;
  after: string | null;
  onOpen?(): void;
  onSubscribe?(): void;
  onPrice(priceUsd: string, cursor: string): void;
}): PriceFeed {
  const { url, projectId, token, after, onOpen, onSubscribe, onPrice } = options;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const send = (message: unknown) => socket.send(JSON.stringify(message));
  // Errors are followed by `close`.
  socket.on('error', () => {});
  socket.on('open', async () => {
    onOpen?.();
    send({ type: 'connection_init', payload: { Authorization: `Bearer ${await token()}` } });
  });
  socket.on('message', (message: Buffer) => {
    const { type, payload } = JSON.parse(message.toString()) as Frame;
    if (type === 'connection_ack') {
      send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION, variables: { projectId, after } } });
      onSubscribe?.();
    }
    if (type === 'error' || type === 'complete') socket.close();
    const frame = payload?.data?.eventRecorded;
    if (type === 'next' && frame) onPrice(frame.event.data.priceUsd, frame.cursor);
  });
  return {
    close: () => socket.close(),
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
  };
}
