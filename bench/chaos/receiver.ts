/**
 * A receiver in its own process. It keeps the ledger: one line for each request that it has read, written to a file
 * before it responds. With `faults`, it occasionally misbehaves in every way a receiver can.
 *
 *   node receiver.ts LEDGER SEED faults|calm
 */
import { openSync, writeSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from './random.ts';

export type LedgerLine = { path: string; id: string; operation: number; answer: Answer };
export type Answer = 'accepted' | 'flooded' | 'failed' | 'reset' | 'stalled' | 'dripped' | 'redirected';

const [file = '', seed = '1', mood = 'calm'] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const ledger = openSync(file, 'a');
const CALM_MILLISECONDS = 60;
const REFUSING_MILLISECONDS = 700;

/** Each response with its probability. Only the first two are successful. */
const ANSWERS: [Answer, number, (response: ServerResponse) => unknown][] = [
  ['accepted', 0.82, (response) => response.end('ok')],
  ['flooded', 0.02, flood],
  ['failed', 0.05, (response) => response.writeHead(500).end('no')],
  ['reset', 0.04, (response) => response.socket?.resetAndDestroy()],
  ['stalled', 0.02, () => {}],
  ['dripped', 0.02, drip],
  ['redirected', 0.03, (response) => response.writeHead(302, { location: '/elsewhere' }).end()],
];

function choose(): (typeof ANSWERS)[number] {
  let rest = random();
  for (const answer of ANSWERS) {
    rest -= answer[1];
    if (rest < 0) return answer;
  }
  return ANSWERS[0]!;
}

/** A body that never ends. */
function flood(response: ServerResponse): void {
  const write = () => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
  };
  response.on('drain', write).on('error', () => {});
  write();
}

/** A status line that is never completed. */
async function drip(response: ServerResponse): Promise<void> {
  for (const character of 'HTTP/1.1 200 OK') {
    if (response.socket?.destroyed !== false) return;
    response.socket.write(character);
    await sleep(200);
  }
}

const server: Server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('error', () => {});
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const { data } = JSON.parse(Buffer.concat(chunks).toString());
    const [answer, , act] = mood === 'faults' ? choose() : ANSWERS[0]!;
    if (mood === 'calm') await sleep(random() * CALM_MILLISECONDS);
    const id = String(request.headers['webhook-id']);
    const line: LedgerLine = {
      path: request.url ?? '',
      id,
      operation: Math.round(Number(data.priceUsd) * 1e6),
      answer,
    };
    writeSync(ledger, `${JSON.stringify(line)}\n`);
    act(response);
  });
});

await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
process.on('disconnect', () => process.exit(1));
process.stdout.write(`${JSON.stringify({ port })}\n`);

while (mood === 'faults') {
  await sleep(1_000 + random() * 5_000);
  // Stops listening for a while, so connections are refused.
  server.close();
  server.closeAllConnections();
  await sleep(REFUSING_MILLISECONDS);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}
