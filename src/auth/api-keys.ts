import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Keyring } from '../secrets/keyring.ts';
import { MASK } from '../secrets/mask.ts';

export type KeyEnvironment = 'LIVE' | 'TEST';

const ENVIRONMENTS: Readonly<Record<string, KeyEnvironment>> = { live: 'LIVE', test: 'TEST' };
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_BYTES = 32;
// 43 characters can hold the 256 random bits, and 6 can hold the 32 bits of the checksum.
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

/** The format of a key. Secret scanners search for it as `\btg_(live|test)_[0-9A-Za-z]{49}\b`. */
const PATTERN = /^tg_(live|test)_[0-9A-Za-z]{49}$/;
const IN_TEXT = /tg_(?:live|test)_[0-9A-Za-z]{49}/g;

/**
 * Creates an API key: `tg_live_` or `tg_test_`, 256 random bits in base62, and the CRC-32 of everything before it, also
 * in base62. The checksum catches typos without a database query and prevents false positives in secret scanners.
 */
export function newApiKey(environment: KeyEnvironment): string {
  const random = BigInt(`0x${randomBytes(RANDOM_BYTES).toString('hex')}`);
  const body = `tg_${environment.toLowerCase()}_${toBase62(random, RANDOM_LENGTH)}`;
  return body + checksum(body);
}

/** Parses an API key. Returns undefined for text that can't be one. */
export function parseApiKey(text: string): { environment: KeyEnvironment } | undefined {
  const match = PATTERN.exec(text);
  if (!match || checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return undefined;
  return { environment: ENVIRONMENTS[match[1]!]! };
}

/** Masks API keys anywhere in a text. */
export const maskApiKeys = (text: string): string => (text.includes('tg_') ? text.replace(IN_TEXT, MASK) : text);

/** Whether the text was meant to be an API key, even if it is malformed. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith('tg_');
}

/**
 * The hashes that a key may be stored under: `<key id>$<HMAC-SHA256 in hex>` for each key in the keyring, starting
 * with the current one. New API keys are stored under the first hash.
 */
export function apiKeyHashes(apiKey: string, keyring: Keyring): string[] {
  const others = [...keyring.all.values()].filter((entry) => entry !== keyring.current);
  return [keyring.current, ...others].map(
    ({ id, apiKeyHashKey }) => `${id}$${createHmac('sha256', apiKeyHashKey).update(apiKey).digest('hex')}`,
  );
}

function checksum(body: string): string {
  return toBase62(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function toBase62(value: bigint, length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) {
    text = BASE62[Number(value % 62n)] + text;
    value /= 62n;
  }
  return text;
}
