import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Keyring } from './keyring.ts';

/** The cell that a secret belongs to. A ciphertext copied into another cell can't be opened there. */
export type SealContext = { table: string; column: string; rowId: string; projectId: string };

export type SecretBox = {
  /** Encrypts under the current key: `v1.<key id>.<iv>.<ciphertext>.<tag>`, with the last three parts in base64url. */
  seal(plaintext: string, context: SealContext): string;
  /**
   * @throws Error if the secret was altered, moved, or sealed under a key that isn't in the keyring. The message
   * contains no secret.
   */
  open(sealed: string, context: SealContext): string;
  /** The ID of the key that sealed the secret. @throws Error if the text isn't a sealed secret. */
  keyIdOf(sealed: string): string;
  /** Whether the secret is sealed under the current key and needs no rotation. */
  isCurrent(sealed: string): boolean;
};

const VERSION = 'v1';
const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const SEALED_PATTERN = /^v1\.([a-z0-9]{1,16})\.([\w-]+)\.([\w-]*)\.([\w-]+)$/;

/** The prefix of all secrets sealed under this key. */
export function sealedPrefix(keyId: string): string {
  return `${VERSION}.${keyId}.`;
}

/** Authenticated encryption of single database cells: AES-256-GCM (NIST SP 800-38D) with random 96-bit IVs. */
export function createSecretBox(keyring: Keyring): SecretBox {
  function seal(plaintext: string, context: SealContext): string {
    const { id, encryptionKey } = keyring.current;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, encryptionKey, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(id, context));
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    const parts = [iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'));
    return sealedPrefix(id) + parts.join('.');
  }

  function open(sealed: string, context: SealContext): string {
    const { keyId, iv, ciphertext, tag } = parse(sealed, context);
    const key = keyring.all.get(keyId);
    if (!key) throw failure(context, `its key ${keyId} is not in SECRET_KEYS`);
    try {
      const decipher = createDecipheriv(ALGORITHM, key.encryptionKey, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(associatedData(keyId, context));
      decipher.setAuthTag(tag);
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
    } catch {
      throw failure(context, 'it was altered or moved');
    }
  }

  function keyIdOf(sealed: string): string {
    return parse(sealed).keyId;
  }

  return { seal, open, keyIdOf, isCurrent: (sealed) => keyIdOf(sealed) === keyring.current.id };
}

function parse(sealed: string, context?: SealContext) {
  const match = SEALED_PATTERN.exec(sealed);
  const [, keyId = '', ...encoded] = match ?? [];
  const [iv, ciphertext, tag] = encoded.map((part) => Buffer.from(part, 'base64url'));
  // Base64 can spell the same bytes in several ways. Only the spelling that `seal` produces is accepted.
  const isCanonical = [iv, ciphertext, tag].every((part, index) => part?.toString('base64url') === encoded[index]);
  if (!match || !isCanonical || iv?.length !== IV_BYTES || tag?.length !== TAG_BYTES || !ciphertext) {
    throw failure(context, 'it is malformed');
  }
  return { keyId, iv, ciphertext, tag };
}

/** A JSON array of strings is unambiguous: no two cells have the same one, no matter what their names contain. */
function associatedData(keyId: string, { table, column, rowId, projectId }: SealContext): Buffer {
  return Buffer.from(JSON.stringify([VERSION, keyId, table, column, projectId, rowId]), 'utf8');
}

function failure(context: SealContext | undefined, reason: string): Error {
  const where = context ? ` of ${context.table}.${context.column} in row ${context.rowId}` : '';
  return new Error(`The stored secret${where} cannot be decrypted: ${reason}.`);
}
