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
  /**
   * Remembers that a credential was refused at an address, until it is accepted there. A person's other tokens count as
   * the same credential, because tokens are renewed.
   *
   * @param accountId the account, if it is the reason why the credential was refused.
   */
  refuse(authorization: string, address: string, accountId?: string): void;
  /** Identifies what was refused at this address: the account or the credential. Undefined if it wasn't refused. */
  refusedAt(authorization: string, address: string): string | undefined;
};

const HOUR_MILLISECONDS = 3_600_000;
const MAX_REMEMBERED = 20_000;

/** @param now returns the time of a monotonic clock, in milliseconds. */
export function createKnownCredentials({ now = () => performance.now() } = {}): KnownCredentials {
  const credentials = createMemory<true>(now);
  const people = createMemory<true>(now);
  /** What was refused, by place. */
  const refused = createMemory<string>(now);

  function personAt(authorization: string, address: string): string | undefined {
    const subject = subjectOf(authorization);
    return subject === undefined ? undefined : digestOf(JSON.stringify([sourceOf(address), subject]));
  }

  /** A person or an API key at an address. */
  const placeOf = (authorization: string, address: string) =>
    personAt(authorization, address) ?? digestOf(JSON.stringify([sourceOf(address), credentialIn(authorization)]));

  return {
    isKnown: (authorization) => credentials.get(digestOf(credentialIn(authorization))) !== undefined,
    remember(authorization, address) {
      credentials.add(digestOf(credentialIn(authorization)), true);
      const person = personAt(authorization, address);
      if (person !== undefined) people.add(person, true);
      refused.remove(person ?? placeOf(authorization, address));
    },
    forget: (authorization) => credentials.remove(digestOf(credentialIn(authorization))),
    claimedBy(authorization, address) {
      const person = personAt(authorization, address);
      return person !== undefined && people.get(person) ? person : undefined;
    },
    refuse(authorization, address, accountId) {
      const place = placeOf(authorization, address);
      refused.add(place, accountId ?? place);
    },
    refusedAt(authorization, address) {
      return refused.isEmpty() ? undefined : refused.get(placeOf(authorization, address));
    },
  };
}

/** Entries from the last hour, or only the most recently used ones if there are too many. */
function createMemory<Value extends string | true>(now: () => number) {
  const entries = createLru<{ value: Value; until: number }>(MAX_REMEMBERED);
  return {
    isEmpty: () => entries.size === 0,
    get(key: string): Value | undefined {
      const entry = entries.get(key);
      return entry && entry.until > now() ? entry.value : undefined;
    },
    remove: (key: string) => entries.delete(key),
    add: (key: string, value: Value) => void entries.set(key, { value, until: now() + HOUR_MILLISECONDS }),
  };
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64');
}

/** The credential without the scheme and any number of spaces. With them, one credential could count as thousands. */
function credentialIn(authorization: string): string {
  return authorization.slice(authorization.indexOf(' ') + 1).trimStart();
}

/**
 * The unverified issuer and subject of a token. Valid ones are text. Anything else could be nested too deeply to be
 * written as JSON.
 */
function subjectOf(authorization: string): [string, string] | undefined {
  try {
    const { iss, sub } = decodeJwt<{ iss: unknown; sub: unknown }>(credentialIn(authorization));
    return typeof iss === 'string' && typeof sub === 'string' ? [iss, sub] : undefined;
  } catch {
    return undefined;
  }
}
