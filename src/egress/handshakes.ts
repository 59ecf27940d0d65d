import type { TLSSocket } from 'node:tls';
import { createLru } from '../lru.ts';
import { parseAddress } from './address.ts';
import { isCostlyChain } from './costly-chain.ts';
import { domainOf } from './domain-turns.ts';
import { EgressError } from './egress-error.ts';

/** How many handshakes run at the same time with a trusted domain at an address. Enough for dozens of new connections a second. */
const MAX_PER_TRUSTED_SITE = 8;
/** The same for all domains at an address that aren't trusted there yet, each of which has one at a time. */
const MAX_PER_ADDRESS = 2;
/** After a costly handshake, connections to the same address fail for this long. */
const PAUSE_MILLISECONDS = 60_000;
/** For this long after a costly handshake, only one runs at a time. */
const COSTLY_FOR_MILLISECONDS = 3_600_000;
const MAX_REMEMBERED = 10_000;
/** An owner can have any number of IPv6 addresses in a network of this size. */
const IPV6_NETWORK_PARTS = 3;

type Waiting = { start(): void; fail(error: Error): void };
type Place = { running: number; waiting: Set<Waiting> };

export type Handshakes = ReturnType<typeof createHandshakes>;

/**
 * Limits how many TLS handshakes with an address run at the same time. The certificates that a server sends
 * are checked before anyone can look at them, and that can hold up the whole process (see `isCostlyChain`). A server that
 * makes a handshake costly gets no connections for a minute, and then a single handshake at a time.
 *
 * Domains of different owners often share an address. Those that have had a certificate from a public authority there
 * don't depend on what other domains at the address do. Names in one domain can also have different owners, such as those
 * of virtual machines and APIs in a cloud, so nothing here depends on what a domain does at other addresses.
 *
 * @param maxWaitMilliseconds how long callers wait for their turn.
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createHandshakes(maxWaitMilliseconds: number, now: () => number = () => performance.now()) {
  const places = new Map<string, Place>();
  /** When the last costly handshake ended. */
  const costlyAt = createLru<number>(MAX_REMEMBERED);
  /** Domains at an address where they have had a certificate from a public authority. */
  const trusted = createLru<true>(MAX_REMEMBERED);

  const sinceCostly = (name: string) => now() - (costlyAt.get(name) ?? Number.NEGATIVE_INFINITY);

  const mostAt = (site: string) => (trusted.get(site) ? MAX_PER_TRUSTED_SITE : 1);

  /** @param most returns how many handshakes may run at the place unless they are costly. */
  function startNext(name: string, place: Place, most: () => number): void {
    const limit = sinceCostly(name) < COSTLY_FOR_MILLISECONDS ? 1 : most();
    for (const next of place.waiting) {
      if (place.running >= limit) return;
      place.waiting.delete(next);
      place.running++;
      next.start();
    }
    if (place.running === 0) places.delete(name);
  }

  /** Resolves to a function that ends the turn. */
  async function takeTurn(name: string, most: () => number): Promise<() => void> {
    if (sinceCostly(name) < PAUSE_MILLISECONDS) throw new CostlyHandshake();
    const place = places.get(name) ?? { running: 0, waiting: new Set() };
    places.set(name, place);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { start: resolve, fail: reject };
    place.waiting.add(waiting);
    startNext(name, place, most);
    const timer = setTimeout(() => {
      if (place.waiting.delete(waiting)) reject(new EgressError('connect_timeout'));
    }, maxWaitMilliseconds);
    await promise.finally(() => clearTimeout(timer));
    return () => {
      place.running--;
      startNext(name, place, most);
    };
  }

  function noteCostly(name: string): void {
    costlyAt.set(name, now());
    const { waiting } = places.get(name) ?? { waiting: new Set<Waiting>() };
    for (const { fail } of waiting) fail(new CostlyHandshake());
    waiting.clear();
  }

  return {
    /**
     * Waits for a turn, and ends the turn when the handshake has ended.
     *
     * @param server `hasOwnAuthority`: whether its owner chose which authorities are trusted.
     * @param handshake calls `watch` with the socket before the handshake starts.
     * @throws EgressError with the class `tls_error` or `connect_timeout` if there is no turn.
     */
    async run<Result>(
      { hostname, address, hasOwnAuthority }: { hostname: string; address: string; hasOwnAuthority: boolean },
      handshake: (watch: (socket: TLSSocket) => void) => Promise<Result>,
    ): Promise<Result> {
      const network = networkOf(address);
      const site = `${domainOf(hostname)} at ${network}`;
      const turns: (() => void)[] = [];
      try {
        turns.push(await takeTurn(site, () => mostAt(site)));
        if (!trusted.get(site)) turns.push(await takeTurn(network, () => MAX_PER_ADDRESS));
        const result = await handshake((socket) =>
          watchHandshake(socket, hasOwnAuthority, () => {
            trusted.delete(site);
            for (const name of [site, network]) noteCostly(name);
          }),
        );
        if (!hasOwnAuthority) trusted.set(site, true);
        return result;
      } finally {
        for (const end of turns) end();
      }
    },
  };
}

class CostlyHandshake extends EgressError {
  constructor() {
    super('tls_error', {
      message: "The server's certificates take too long to check. Send fewer, with usual keys and fewer names.",
    });
  }
}

/**
 * Checks the server's certificates when the handshake has succeeded, or when it has failed and the socket is destroyed.
 * After that, they are no longer available. If a public authority has issued the certificate, only its few certificates
 * were checked, even if the server sent more.
 */
function watchHandshake(socket: TLSSocket, hasOwnAuthority: boolean, onCostly: () => void): void {
  const destroy = socket.destroy.bind(socket);
  function end(isTrusted: boolean): void {
    socket.destroy = destroy;
    if (!isTrusted && isCostlyChain(socket.getPeerX509Certificate())) onCostly();
  }
  socket.destroy = (error) => {
    end(false);
    return destroy(error);
  };
  socket.once('secureConnect', () => end(!hasOwnAuthority));
}

function networkOf(address: string): string {
  const parsed = parseAddress(address);
  if (!parsed || parsed.kind() === 'ipv4') return parsed?.toString() ?? address;
  return parsed.toNormalizedString().split(':').slice(0, IPV6_NETWORK_PARTS).join(':');
}
