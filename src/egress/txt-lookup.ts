import { Resolver } from 'node:dns/promises';

/**
 * Reads the TXT records of a name, each joined from its parts (RFC 1035 §3.3.14). Undefined means that no name server
 * gave a usable response, so it is unknown whether there are any.
 */
export type TxtLookup = (name: string) => Promise<string[] | undefined>;

/** Codes that mean the record doesn't exist, as opposed to a failure. `EBADNAME`: no name can be that long. */
const NONE = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/**
 * Reads TXT records over DNS. Nothing is cached here, so a new record is found as soon as the name servers have it.
 *
 * @param servers DNS servers as `address:port`. Defaults to the machine's own.
 */
export function createTxtLookup(servers?: string[]): TxtLookup {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (name) => {
    try {
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
    } catch (error) {
      return NONE.has((error as NodeJS.ErrnoException).code ?? '') ? [] : undefined;
    }
  };
}
