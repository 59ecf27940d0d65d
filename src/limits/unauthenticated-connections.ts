import { sourceOf } from './failed-credentials.ts';
import { largestNetworkOf } from './failures-by-network.ts';

/** Limits connections whose client hasn't authenticated yet. */
export type UnauthenticatedConnections = {
  /**
   * Admits a connection. If there are now too many, another one is evicted.
   *
   * @param evict ends the connection.
   * @returns a function to call when the client has authenticated, or the connection has ended.
   */
  enter(address: string, evict: () => void): () => void;
};

const UNAUTHENTICATED_LIMITS = {
  /** Per IP address (for IPv6, per /64). Connections no longer count once their client has authenticated. */
  perAddress: 100,
  total: 1_000,
} as const;

type Connection = { evict(): void; leave(): void };
/** The connections from a network, by address and in order of arrival. */
type Network = { count: number; sources: Map<string, Set<Connection>> };

/**
 * Keeps the number of unauthenticated connections small, per address and in total. New connections are never refused,
 * because most clients authenticate soon. Instead, they replace the oldest one of the network and address with the most
 * connections, so a flood replaces its own connections.
 */
export function createUnauthenticatedConnections(
  limits: { perAddress: number; total: number } = UNAUTHENTICATED_LIMITS,
): UnauthenticatedConnections {
  const networks = new Map<string, Network>();
  let total = 0;

  function evictOldest(connections: Set<Connection>): void {
    const [oldest] = connections;
    oldest!.leave();
    oldest!.evict();
  }

  return {
    enter(address, evict) {
      const [name, source] = [largestNetworkOf(address), sourceOf(address)];
      const network: Network = networks.get(name) ?? { count: 0, sources: new Map() };
      const connections = network.sources.get(source) ?? new Set();
      const connection: Connection = {
        evict,
        leave() {
          if (!connections.delete(connection)) return;
          total -= 1;
          network.count -= 1;
          if (connections.size === 0) network.sources.delete(source);
          if (network.count === 0) networks.delete(name);
        },
      };
      networks.set(name, network);
      network.sources.set(source, connections);
      connections.add(connection);
      network.count += 1;
      total += 1;

      if (connections.size > limits.perAddress) evictOldest(connections);
      else if (total > limits.total) {
        const { sources } = largest(networks.values(), ({ count }) => count);
        evictOldest(largest(sources.values(), ({ size }) => size));
      }
      return connection.leave;
    },
  };
}

/** The first of the items that are equally large. */
function largest<T>(items: Iterable<T>, sizeOf: (item: T) => number): T {
  let [found] = items;
  for (const item of items) if (sizeOf(item) > sizeOf(found!)) found = item;
  return found!;
}
