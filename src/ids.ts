import { randomBytes } from 'node:crypto';
import { sharedNow } from './clock.ts';

/** The ID prefix of each GraphQL type. A prefix belongs to one type, so that no two objects have the same ID. */
export const ID_PREFIXES = {
  User: 'usr',
  Viewer: 'vwr',
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
  Notice: 'ntc',
  ProjectMember: 'mem',
  Invitation: 'inv',
  ProjectTransfer: 'trf',
} as const;

export type IdType = keyof typeof ID_PREFIXES;

// Crockford's base32: its characters are in ASCII order, so encoded IDs sort in the same order as their bytes.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const UUID_BYTES = 16;
const TIME_BYTES = 6;
/** In the year 10889. An ID from a caller can claim to be from then. */
const MAX_MILLISECONDS = 2 ** (8 * TIME_BYTES) - 1;
const RANDOM_BYTES = 4_096;
const PATTERN = /^([a-z]{2,4})_([0-7][0-9a-hjkmnp-tv-z]{25})$/;
const TYPES_BY_PREFIX = new Map(
  Object.entries(ID_PREFIXES).map(([type, prefix]) => [prefix as string, type as IdType]),
);

let lastMilliseconds = 0;
let sequence = 0;
let random = Buffer.alloc(0);
let randomOffset = 0;

/**
 * Creates an ID: the prefix, `_`, and a UUIDv7 (RFC 9562 §5.7) in sortable base32, for example,
 * `proj_01jc9x2v5qe3w8k4m6n7p9r0st`. A process's IDs are strictly increasing.
 */
export function newId(type: IdType, milliseconds: number = sharedNow()): string {
  return `${ID_PREFIXES[type]}_${encode(uuidV7(milliseconds))}`;
}

/**
 * The ID of an object that exists once for each object of another type, for example, the viewer of an account.
 *
 * @param id a well-formed ID of that other type.
 */
export function idAlongside(type: IdType, id: string): string {
  return `${ID_PREFIXES[type]}${id.slice(id.indexOf('_'))}`;
}

/** An ID's type, or undefined if the ID isn't one of ours. */
export function typeOfId(id: string): IdType | undefined {
  const match = PATTERN.exec(id);
  return match ? TYPES_BY_PREFIX.get(match[1]!) : undefined;
}

/** A type's name in plain English: `an API key`. */
export function nameOfType(type: IdType): string {
  const words = type === 'ApiKey' ? 'API key' : type.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return `${/^[aeiou]/i.test(words) ? 'an' : 'a'} ${words}`;
}

/** Whether `id` is a well-formed ID of this type. */
export function isId(type: IdType, id: string): boolean {
  return typeOfId(id) === type;
}

/** The creation time in a well-formed ID, in milliseconds. */
export function millisecondsOfId(id: string): number {
  let value = 0n;
  for (const character of id.slice(id.indexOf('_') + 1)) value = value * 32n + BigInt(ALPHABET.indexOf(character));
  return Number(value >> 80n);
}

/** The smallest possible ID of a type at this time, as a lower bound for range scans. */
export function firstIdAt(type: IdType, milliseconds: number): string {
  const bytes = Buffer.alloc(UUID_BYTES);
  bytes.writeUIntBE(Math.min(Math.max(0, milliseconds), MAX_MILLISECONDS), 0, TIME_BYTES);
  return `${ID_PREFIXES[type]}_${encode(bytes)}`;
}

function uuidV7(milliseconds: number): Buffer {
  // Within a millisecond, or if the clock steps back, the 12-bit field counts up (RFC 9562 §6.2, method 1).
  if (milliseconds > lastMilliseconds) {
    lastMilliseconds = milliseconds;
    sequence = 0;
  } else if (++sequence > 0xfff) {
    lastMilliseconds += 1;
    sequence = 0;
  }
  const bytes = takeRandom(UUID_BYTES);
  bytes.writeUIntBE(lastMilliseconds, 0, TIME_BYTES);
  bytes.writeUInt16BE(0x7000 | sequence, TIME_BYTES);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return bytes;
}

/** Random bytes, generated in bulk because generating a few takes just as long. Each byte is used once. */
function takeRandom(count: number): Buffer {
  if (randomOffset + count > random.length) {
    random = randomBytes(RANDOM_BYTES);
    randomOffset = 0;
  }
  randomOffset += count;
  return random.subarray(randomOffset - count, randomOffset);
}

/** Encodes 16 bytes as 26 digits of five bits each: two zero bits, then the 128 bits. */
function encode(bytes: Buffer): string {
  let text = '';
  let value = 0;
  let bits = 2;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; ) {
      bits -= 5;
      text += ALPHABET[(value >> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return text;
}
