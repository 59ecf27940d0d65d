import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { inTurnByDomain, MAX_ADDRESSES } from './domain-turns.ts';
import { EgressError } from './egress-error.ts';
import { isLocalHostname } from './url.ts';

/** Resolves a name to all its IPv4 and IPv6 addresses, in the order to try them. */
export type Lookup = (hostname: string) => Promise<string[]>;

/**
 * Resolves local names through the operating system (hosts file, search domains), and all other names over DNS with
 * c-ares. `getaddrinfo` blocks one of libuv's few threads until a name server responds, so a few hostile names would
 * block all name resolution in the process.
 *
 * @param servers DNS servers as `address:port`. Defaults to the machine's own.
 */
export function createLookup(servers?: string[]): Lookup {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    if (isLocalHostname(hostname)) {
      const entries = await systemLookup(hostname, { all: true, order: 'verbatim' });
      return entries.map((entry) => entry.address);
    }
    const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    const failure = results.find((result) => result.status === 'rejected');
    if (addresses.length === 0 && failure) throw failure.reason;
    return addresses;
  };
}

/**
 * Adds a timeout to a lookup, leaves out all but the first hundred addresses, and shares the result among connections
 * that are opened at the same time. Names in the same domain take turns. Results are never cached: later connections
 * resolve the name again.
 *
 * The returned function throws an EgressError with the class `dns_error` for every failure and for an empty result.
 */
export function boundLookup(lookup: Lookup, timeoutMilliseconds: number): Lookup {
  const running = new Map<string, Promise<string[]>>();
  const lookupInTurn = inTurnByDomain(lookup, timeoutMilliseconds);
  return (hostname) => {
    const shared = running.get(hostname);
    if (shared) return shared;
    const result = resolveInTime(lookupInTurn(hostname), timeoutMilliseconds).finally(() => running.delete(hostname));
    running.set(hostname, result);
    return result;
  };
}

async function resolveInTime(result: Promise<string[]>, timeoutMilliseconds: number): Promise<string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new EgressError('dns_error')), timeoutMilliseconds);
  try {
    const addresses = await Promise.race([result, late]);
    if (addresses.length === 0) throw new EgressError('dns_error');
    return addresses.slice(0, MAX_ADDRESSES);
  } catch (cause) {
    throw cause instanceof EgressError ? cause : new EgressError('dns_error', { cause });
  } finally {
    clearTimeout(timer);
  }
}
