import fc from 'fast-check';
import { request } from 'undici';
import { addressIn, DENIED_IPV4, DENIED_IPV6, hostileUrls, PUBLIC_ADDRESSES, spellings } from './hostile-targets.ts';
import { startRawServer } from './raw-server.ts';
import { createTestEgress } from './support.ts';

/** The probe's result, printed as JSON: how many targets it tried, and which addresses it reached. */
export type ProbeReport = { tried: number; reachedDenied: string[]; reachedPublic: string[]; reachedOwn: string[] };

// namespace.service.test.ts runs this in a network namespace where every address belongs to this machine. The sentinel
// accepts and counts every connection that gets past the guard.
const PORT = 8443;
const ADDRESSES_PER_RANGE = 25;

let reached: string[] = [];
await using _sentinel = await startRawServer(
  (socket) => {
    reached.push(socket.localAddress ?? 'unknown');
    socket.destroy();
  },
  { host: '::', port: PORT },
);
let responses: string[] = [];
await using egress = createTestEgress({ lookup: async () => responses });

const urlOf = (address: string) => `https://${address.includes(':') ? `[${address}]` : address}:${PORT}/`;

/** The addresses reached since the last call. A connection that is deliberately allowed marks the end. */
async function takeReached(): Promise<string[]> {
  const marker = PUBLIC_ADDRESSES[0]!;
  await egress.failureOf(urlOf(marker));
  const taken = reached;
  reached = [];
  if (!taken.at(-1)?.endsWith(marker)) throw new Error('The sentinel cannot be reached: the probe proves nothing.');
  return taken.slice(0, -1);
}

let tried = 0;
async function attempt(url: string): Promise<void> {
  tried += 1;
  await egress.failureOf(url);
}

responses = ['127.0.0.1'];
for (const url of hostileUrls(PORT)) await attempt(url);
for (const cidr of [...DENIED_IPV4, ...DENIED_IPV6]) {
  for (const address of fc.sample(addressIn(cidr), ADDRESSES_PER_RANGE)) {
    for (const host of spellings(address)) await attempt(`https://${host}:${PORT}/`);
    responses = [PUBLIC_ADDRESSES[1]!, address.toString()];
    await attempt(`https://mixed.example:${PORT}/`);
    tried += 1;
    await request(urlOf(address.toString()), { dispatcher: egress.dispatcherFor('') }).catch(() => {});
  }
}
const reachedDenied = await takeReached();
for (const address of PUBLIC_ADDRESSES) await egress.failureOf(urlOf(address));
const reachedPublic = await takeReached();
await egress.failureOf(urlOf(process.argv[2]!));
const reachedOwn = await takeReached();

const report: ProbeReport = { tried, reachedDenied, reachedPublic, reachedOwn };
process.stdout.write(JSON.stringify(report));
