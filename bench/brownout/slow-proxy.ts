import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type SlowProxy = Awaited<ReturnType<typeof startSlowProxy>>;

/** A TCP proxy on loopback whose target can be made to respond late. */
export async function startSlowProxy(targetUrl: string) {
  const { hostname, port } = new URL(targetUrl);
  let delayMilliseconds = 0;

  /** Forwards everything in order, each chunk after the delay that applied when it arrived. */
  function forwardLate(from: Socket, to: Socket): void {
    const chunks: { bytes: Buffer; dueAt: number }[] = [];
    from.on('data', async (bytes) => {
      chunks.push({ bytes, dueAt: performance.now() + delayMilliseconds });
      if (chunks.length > 1) return;
      for (let next = chunks[0]; next; next = chunks[0]) {
        const waitMilliseconds = next.dueAt - performance.now();
        if (waitMilliseconds > 0) await sleep(waitMilliseconds);
        if (to.writable) to.write(next.bytes);
        chunks.shift();
      }
    });
  }

  const server = createServer((client) => {
    const target = connect(Number(port), hostname);
    client.pipe(target);
    forwardLate(target, client);
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      socket.on('error', () => {});
      socket.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    /** Delays all responses that arrive from now on. */
    delay(milliseconds: number): void {
      delayMilliseconds = milliseconds;
    },
  };
}
