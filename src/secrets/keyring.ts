import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readOrCreate } from './create-once.ts';

/** One master key, as the sub-keys made of it. Key objects print as nothing, so a logged keyring gives nothing away. */
export type KeyringEntry = {
  id: string;
  /** Encrypts stored secrets (AES-256). */
  encryptionKey: KeyObject;
  /** Hashes API keys (HMAC-SHA256). */
  apiKeyHashKey: KeyObject;
  /** Makes the secrets of projects that requests to their upstreams are signed with (HKDF-SHA256). */
  upstreamSecretKey: KeyObject;
};

/**
 * The keys of a deployment. `current` seals and hashes what is new; all of them open what is old.
 *
 * A key is replaced without downtime in four steps, each rolled out to every process before the next: append the new
 * key (`old,new`), put it first (`new,old`), run `rotate-secrets`, and drop the old one once that command reports
 * nothing left under it, and at the earliest 24 hours after the second step.
 */
export type Keyring = { current: KeyringEntry; all: ReadonlyMap<string, KeyringEntry> };

const KEY_BYTES = 32;
const ID_PATTERN = /^[a-z0-9]{1,16}$/;
const KEY_PATTERN = /^[A-Za-z0-9+/]{43}=?$/;

/**
 * Reads `SECRET_KEYS`: `id:base64` of 32 bytes each, separated by commas, the current one first.
 *
 * @throws Error naming the entry that cannot be read, never its key.
 */
export function parseKeyring(text: string): Keyring {
  const all = new Map<string, KeyringEntry>();
  for (const [index, part] of text.split(',').entries()) {
    const [id = '', key = '', ...rest] = part.trim().split(':');
    const where = `Entry ${index + 1}`;
    if (!ID_PATTERN.test(id))
      throw new Error(`${where} must start with an id of 1 to 16 of a-z and 0-9, then a colon.`);
    if (!KEY_PATTERN.test(key) || rest.length > 0) {
      throw new Error(`${where} (${id}) must be ${KEY_BYTES} bytes in base64, as \`openssl rand -base64 32\` prints.`);
    }
    if (all.has(id)) throw new Error(`${where} repeats the id ${id}.`);
    all.set(id, entryOf(id, Buffer.from(key, 'base64')));
  }
  const [current] = all.values();
  return { current: current!, all };
}

/**
 * The keyring of `SECRET_KEYS`, or else of `<dataDir>/secret-keys`, which is made on the first start with one random
 * key. Losing that file makes the stored secrets unreadable: back it up with the database.
 */
export async function loadKeyring(options: { secretKeys?: string | undefined; dataDir: string }): Promise<Keyring> {
  if (options.secretKeys !== undefined) return parseKeyring(options.secretKeys);
  const path = join(options.dataDir, 'secret-keys');
  const text = await readOrCreate(path, newKeyringText);
  try {
    return parseKeyring(text);
  } catch (error) {
    throw new Error(`${path} cannot be used: ${(error as Error).message}`);
  }
}

/** A keyring of one new random key, as text. The id is random too, so that a foreign key is told by its name. */
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

/** HKDF (RFC 5869): one purpose's key says nothing about another's, nor about the master key. */
function subKey(masterKey: Buffer, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)));
}
