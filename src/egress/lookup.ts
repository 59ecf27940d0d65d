import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { EgressError } from './egress-error.ts';
import { isLocalHostname } from './url.ts';

/** Resolves a name to all its addresses, IPv4 and IPv6, in the order in which they should be tried. */
export type Lookup = (hostname: string) => Promise<string[]>;

/**
 * Names of the own network are resolved as the operating system does it (hosts file, search domains). All others are
 * asked of the DNS by c-ares: `getaddrinfo` occupies one of libuv's few threads for as long as a name server is silent,
 * so a handful of hostile names would stop every other name in the process from being resolved.
 *
 * @param servers DNS servers as `address:port` instead of the machine's own.
 */
export function createLookup(servers?: string[]): Lookup {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    if (isLocalHostname(hostname)) {
      const answers = await systemLookup(hostname, { all: true, order: 'verbatim' });
      return answers.map((answer) => answer.address);
    }
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (addresses.length === 0 && failure) throw failure.reason;
    return addresses;
  };
}

/**
 * Bounds a lookup in time and lets connections that are opened at the same moment share one. An answer is never kept
 * after that: each later connection asks again.
 *
 * @throws EgressError `dns_error`, from the returned function, for every failure and for an empty answer.
 */
export function boundLookup(lookup: Lookup, timeoutMilliseconds: number): Lookup {
  const running = new Map<string, Promise<string[]>>();
  return (hostname) => {
    const shared = running.get(hostname);
    if (shared) return shared;
    const answer = answerInTime(lookup(hostname), timeoutMilliseconds).finally(() => running.delete(hostname));
    running.set(hostname, answer);
    return answer;
  };
}

async function answerInTime(answer: Promise<string[]>, timeoutMilliseconds: number): Promise<string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new EgressError('dns_error')), timeoutMilliseconds);
  try {
    const addresses = await Promise.race([answer, late]);
    if (addresses.length === 0) throw new EgressError('dns_error');
    return addresses;
  } catch (cause) {
    throw cause instanceof EgressError ? cause : new EgressError('dns_error', { cause });
  } finally {
    clearTimeout(timer);
  }
}
