import { readFileSync } from 'node:fs';

/**
 * The maximum number of connections that a process keeps open. A process also remembers details about no more than this
 * many destinations, because with more, most requests need a new connection anyway.
 */
export const MAX_KEPT_CONNECTIONS = 16_384;

// The other half is for connections in use, callers, and the database.
const PART_OF_OPEN_FILES = 1 / 2;

/**
 * How many connections this process keeps open.
 *
 * @param limits the contents of `/proc/self/limits`. Without it (outside Linux), only the maximum applies.
 */
export function keptConnections(limits = readLimits()): number {
  const openFiles = /^Max open files +(\d+)/m.exec(limits)?.[1];
  if (openFiles === undefined) return MAX_KEPT_CONNECTIONS;
  return Math.min(Math.floor(Number(openFiles) * PART_OF_OPEN_FILES), MAX_KEPT_CONNECTIONS);
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
