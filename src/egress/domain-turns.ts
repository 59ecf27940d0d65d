import { getDomain } from 'tldts';
import { createLru } from '../lru.ts';
import { EgressError } from './egress-error.ts';

/** How many names of a domain are looked up at the same time. */
const MAX_AT_ONCE = 20;
/**
 * How many of a name's addresses are used. A response can have thousands, and checking them all would hold up the whole
 * process for seconds.
 */
export const MAX_ADDRESSES = 100;
/** How long a domain waits for each address, if there are more than that. Reading one takes a fraction of this time. */
const PAUSE_MILLISECONDS = 0.25;
const LARGE_FOR_MILLISECONDS = 3_600_000;
const MAX_REMEMBERED = 10_000;

/** Resolves a name to its addresses. */
type Resolve = (hostname: string) => Promise<string[]>;

type Waiting = {
  hostname: string;
  /** When nobody waits for it anymore. */
  until: number;
  resolve(addresses: string[]): void;
  reject(error: unknown): void;
};
type Domain = { running: number; waiting: Waiting[] };

/**
 * Limits how many names of a domain are looked up at the same time. Reading a response with thousands of addresses holds
 * up the whole process, and anyone can have any number of names with such a response. A domain that had one gets a single
 * lookup at a time, with a pause after each large response.
 *
 * @param maxWaitMilliseconds how long callers wait for a lookup.
 */
export function inTurnByDomain(lookup: Resolve, maxWaitMilliseconds: number): Resolve {
  const domains = new Map<string, Domain>();
  /** Until when a domain gets a single lookup at a time. */
  const largeUntil = createLru<number>(MAX_REMEMBERED);

  function startNext(name: string, domain: Domain): void {
    const limit = (largeUntil.get(name) ?? 0) > performance.now() ? 1 : MAX_AT_ONCE;
    while (domain.running < limit) {
      const next = domain.waiting.shift();
      if (!next) break;
      if (next.until <= performance.now()) next.reject(new EgressError('dns_error'));
      else void run(name, domain, next);
    }
    if (domain.running === 0) domains.delete(name);
  }

  async function run(name: string, domain: Domain, { hostname, resolve, reject }: Waiting): Promise<void> {
    domain.running++;
    const result = lookup(hostname);
    result.then(resolve, reject);
    const { length } = await result.catch(() => []);
    if (length > MAX_ADDRESSES) {
      largeUntil.set(name, performance.now() + LARGE_FOR_MILLISECONDS);
      await new Promise((end) => void setTimeout(end, length * PAUSE_MILLISECONDS).unref());
    }
    domain.running--;
    startNext(name, domain);
  }

  return (hostname) => {
    const name = domainOf(hostname);
    const domain = domains.get(name) ?? { running: 0, waiting: [] };
    domains.set(name, domain);
    const { promise, resolve, reject } = Promise.withResolvers<string[]>();
    domain.waiting.push({ hostname, until: performance.now() + maxWaitMilliseconds, resolve, reject });
    startNext(name, domain);
    return promise;
  };
}

/**
 * The part of a name that someone has registered, such as `shop.com`, `shop.co.uk`, or `shop.vercel.app`. All names under
 * it belong to the same owner (https://publicsuffix.org).
 */
export function domainOf(hostname: string): string {
  return (
    getDomain(hostname, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? hostname
  );
}
