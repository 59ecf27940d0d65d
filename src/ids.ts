import { randomBytes } from 'node:crypto';
import { sharedNow } from './clock.ts';

/** The prefix of each resource's identifiers and the GraphQL type it stands for. */
export const ID_PREFIXES = {
  User: 'usr',
  Project: 'proj',
  Endpoint: 'ep',
  ApiKey: 'key',
  Webhook: 'wh',
  Connector: 'con',
  Event: 'evt',
  Delivery: 'dlv',
  Attempt: 'att',
  Replay: 'rpl',
  Payment: 'pay',
  Customer: 'cus',
  AuditEntry: 'aud',
} as const;

export type IdType = keyof typeof ID_PREFIXES;

// Crockford's base32: its characters are in ASCII order, so encoded ids sort as their bytes do.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const ENCODED_LENGTH = 26;
const PATTERN = /^([a-z]{2,4})_([0-7][0-9a-hjkmnp-tv-z]{25})$/;
const TYPES_BY_PREFIX = new Map(
  Object.entries(ID_PREFIXES).map(([type, prefix]) => [prefix as string, type as IdType]),
);

let lastMilliseconds = 0;
let sequence = 0;

/**
 * Makes an identifier: prefix, `_`, and a UUIDv7 (RFC 9562 §5.7) in sortable base32, for example
 * `proj_01jc9x2v5qe3w8k4m6n7p9r0st`. Ids made by one process are strictly increasing.
 */
export function newId(type: IdType, milliseconds: number = sharedNow()): string {
  return `${ID_PREFIXES[type]}_${encode(uuidV7(milliseconds))}`;
}

/** The type an identifier belongs to, or undefined when it is not one of ours. */
export function typeOfId(id: string): IdType | undefined {
  const match = PATTERN.exec(id);
  return match ? TYPES_BY_PREFIX.get(match[1]!) : undefined;
}

/** Whether `id` is a well-formed identifier of that type. */
export function isId(type: IdType, id: string): boolean {
  return typeOfId(id) === type;
}

/** The creation time in milliseconds that a well-formed identifier carries. */
export function millisecondsOfId(id: string): number {
  let value = 0n;
  for (const character of id.slice(id.indexOf('_') + 1)) value = value * 32n + BigInt(ALPHABET.indexOf(character));
  return Number(value >> 80n);
}

/** The smallest identifier of a type that could have been made at that time: a lower bound for range scans. */
export function firstIdAt(type: IdType, milliseconds: number): string {
  return `${ID_PREFIXES[type]}_${encode(BigInt(Math.max(0, milliseconds)) << 80n)}`;
}

function uuidV7(milliseconds: number): bigint {
  // Within one millisecond, and when the clock steps back, the 12-bit field counts up (RFC 9562 §6.2, method 1).
  if (milliseconds > lastMilliseconds) {
    lastMilliseconds = milliseconds;
    sequence = 0;
  } else if (++sequence > 0xfff) {
    lastMilliseconds += 1;
    sequence = 0;
  }
  const random = randomBytes(8).readBigUInt64BE() & 0x3fff_ffff_ffff_ffffn;
  return (BigInt(lastMilliseconds) << 80n) | (0x7n << 76n) | (BigInt(sequence) << 64n) | (0x2n << 62n) | random;
}

function encode(value: bigint): string {
  let text = '';
  for (let index = 0; index < ENCODED_LENGTH; index++) {
    text = ALPHABET[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return text;
}
