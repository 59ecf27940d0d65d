import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readOrCreate } from './create-once.ts';

/** A master key's sub-keys. Key objects print without their contents, so a logged keyring reveals nothing. */
type KeyringEntry = {
  id: string;
  /** Encrypts stored secrets (AES-256). */
  encryptionKey: KeyObject;
  /** Hashes API keys (HMAC-SHA256). */
  apiKeyHashKey: KeyObject;
  /** Derives each project's secret for signing requests to its upstreams (HKDF-SHA256). */
  upstreamSecretKey: KeyObject;
};

/**
 * A deployment's keys. `current` seals and hashes new data. All keys can open old data.
 *
 * To replace a key without downtime, roll out each of these four steps to every process before the next: append the new
 * key (`old,new`), put it first (`new,old`), run `rotate-secrets`, and remove the old key. Remove it only when that
 * command reports that nothing is left, and no sooner than 24 hours after the second step.
 */
export type Keyring = { current: KeyringEntry; all: ReadonlyMap<string, KeyringEntry> };

const KEY_BYTES = 32;
/** Random keys have about 30 distinct bytes. */
const MIN_DISTINCT_BYTES = 16;
const ID_PATTERN = /^[a-z0-9]{1,16}$/;
const KEY_PATTERN = /^[A-Za-z0-9+/]{43}=?$/;

/**
 * Parses `SECRET_KEYS`: one `id:base64` entry of 32 bytes per key, separated by commas, with the current key first.
 *
 * @throws Error that names the invalid entry, but never its key.
 */
export function parseKeyring(text: string): Keyring {
  const all = new Map<string, KeyringEntry>();
  for (const [index, part] of text.split(',').entries()) {
    const [id = '', key = '', ...rest] = part.trim().split(':');
    const where = `Entry ${index + 1}`;
    if (!ID_PATTERN.test(id))
      throw new Error(`${where} must start with an ID of 1 to 16 characters from a-z and 0-9, followed by a colon.`);
    if (!KEY_PATTERN.test(key) || rest.length > 0) {
      throw new Error(
        `${where} (${id}) must be ${KEY_BYTES} bytes in base64. To generate a key, run \`openssl rand -base64 32\`.`,
      );
    }
    if (all.has(id)) throw new Error(`${where} repeats the ID ${id}.`);
    all.set(id, entryOf(id, Buffer.from(key, 'base64')));
  }
  const [current] = all.values();
  return { current: current!, all };
}

/**
 * Checks the form of `SECRET_KEYS`, and that the current key looks random. Older keys aren't checked for that, so that
 * a guessable key can be replaced.
 *
 * @throws Error that names the invalid entry, but never its key.
 */
export function checkSecretKeys(text: string): void {
  parseKeyring(text);
  const [id = '', key = ''] = text.split(',', 1)[0]!.trim().split(':');
  if (looksRandom(Buffer.from(key, 'base64'))) return;
  throw new Error(
    `The current key (${id}) isn't random, so others can guess it. To generate a key, run \`openssl rand -base64 32\`.`,
  );
}

/** Random bytes fail these checks less than once in ten billion keys. */
function looksRandom(key: Buffer): boolean {
  const bytes = [...key];
  const steps = new Set(bytes.slice(1).map((byte, index) => (byte - bytes[index]! + 256) % 256));
  const isText = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  return new Set(bytes).size >= MIN_DISTINCT_BYTES && steps.size > 1 && !isText;
}

/**
 * The keyring in `SECRET_KEYS`, or else in `<dataDir>/secret-keys`, which is created with a random key on the first
 * start. Without that file, the stored secrets can't be read, so back it up with the database.
 */
export async function loadKeyring(options: { secretKeys?: string | undefined; dataDir: string }): Promise<Keyring> {
  if (options.secretKeys !== undefined) return parseKeyring(options.secretKeys);
  const path = join(options.dataDir, 'secret-keys');
  const text = await readOrCreate(path, newKeyringText);
  try {
    return parseKeyring(text);
  } catch (error) {
    throw new Error(`${path} is invalid: ${(error as Error).message}`);
  }
}

/** A keyring with one new random key, as text. The ID is also random, so a key from elsewhere has a different ID. */
function newKeyringText(): string {
  return `${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}\n`;
}

function entryOf(id: string, masterKey: Buffer): KeyringEntry {
  return {
    id,
    encryptionKey: subKey(masterKey, 'tollgate encryption v1'),
    apiKeyHashKey: subKey(masterKey, 'tollgate api-key hash v1'),
    upstreamSecretKey: subKey(masterKey, 'tollgate upstream secret v1'),
  };
}

/** HKDF (RFC 5869): the key for one purpose reveals nothing about other keys or the master key. */
function subKey(masterKey: Buffer, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)));
}
