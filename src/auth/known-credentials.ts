import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { sourceOf } from '../limits/failed-credentials.ts';
import { createLru } from '../lru.ts';

/**
 * Remembers recently used valid credentials, so that they keep working while other callers from the same address are
 * blocked, and those that were valid but refused.
 */
export type KnownCredentials = {
  isKnown(authorization: string): boolean;
  remember(authorization: string, address: string): void;
  /** Returns false if it was already forgotten. */
  forget(authorization: string): boolean;
  /**
   * The user that a token names, if that user has signed in from this address before. Tokens are renewed every few
   * minutes: a new one isn't known yet, but must not be blocked because of other callers.
   */
  claimedBy(authorization: string, address: string): string | undefined;
  /** Remembers that a credential was refused at an address, until it is accepted there. */
  refuse(authorization: string, address: string): void;
  /** Identifies a credential that was refused at this address. Otherwise, undefined. */
  refusedAt(authorization: string, address: string): string | undefined;
};

const HOUR_MILLISECONDS = 3_600_000;
const MAX_REMEMBERED = 20_000;

/** @param now returns the time of a monotonic clock, in milliseconds. */
export function createKnownCredentials({ now = () => performance.now() } = {}): KnownCredentials {
  const credentials = createMemory(now);
  const people = createMemory(now);
  const refused = createMemory(now);

  function personAt(authorization: string, address: string): string | undefined {
    const subject = subjectOf(authorization);
    return subject === undefined ? undefined : digestOf(JSON.stringify([sourceOf(address), subject]));
  }

  const placeOf = (authorization: string, address: string) =>
    digestOf(JSON.stringify([sourceOf(address), authorization]));

  return {
    isKnown: (authorization) => credentials.has(digestOf(authorization)),
    remember(authorization, address) {
      credentials.add(digestOf(authorization));
      const person = personAt(authorization, address);
      if (person !== undefined) people.add(person);
      refused.remove(placeOf(authorization, address));
    },
    forget: (authorization) => credentials.remove(digestOf(authorization)),
    claimedBy(authorization, address) {
      const person = personAt(authorization, address);
      return person !== undefined && people.has(person) ? person : undefined;
    },
    refuse: (authorization, address) => refused.add(placeOf(authorization, address)),
    refusedAt(authorization, address) {
      if (refused.isEmpty()) return undefined;
      const place = placeOf(authorization, address);
      return refused.has(place) ? place : undefined;
    },
  };
}

/** Keys from the last hour, or only the most recently used ones if there are too many. */
function createMemory(now: () => number) {
  const untilByKey = createLru<number>(MAX_REMEMBERED);
  return {
    isEmpty: () => untilByKey.size === 0,
    has: (key: string) => (untilByKey.get(key) ?? 0) > now(),
    remove: (key: string) => untilByKey.delete(key),
    add: (key: string) => void untilByKey.set(key, now() + HOUR_MILLISECONDS),
  };
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64');
}

/** The unverified issuer and subject of a token. */
function subjectOf(authorization: string): unknown {
  try {
    const { iss, sub } = decodeJwt(authorization.slice(authorization.indexOf(' ') + 1));
    return sub === undefined ? undefined : [iss, sub];
  } catch {
    return undefined;
  }
}
