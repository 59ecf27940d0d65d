import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The queries and subscriptions that this server's console sends. */
export type ConsoleReads = {
  /** Whether a request claims to contain one of these operations. This is known before the body is read. */
  areAnnounced(headers: Headers): boolean;
  /** Whether a document is exactly one of these operations. */
  include(query: unknown): boolean;
};

/**
 * Reads the list of operations from the console's build.
 *
 * @param folder the built console. Without it, the list is empty.
 */
export async function openConsoleReads(folder: string): Promise<ConsoleReads> {
  const text = await readFile(join(folder, '.vite', 'reads.json'), 'utf8').catch(() => '[]');
  return createConsoleReads(JSON.parse(text));
}

/** @param hashes the SHA-256 of each document, in hexadecimal. */
export function createConsoleReads(hashes: readonly string[]): ConsoleReads {
  const known = new Set(hashes);
  return {
    areAnnounced: (headers) => known.size > 0 && headers['tollgate-client'] === 'console',
    include: (query) => typeof query === 'string' && known.has(createHash('sha256').update(query).digest('hex')),
  };
}
