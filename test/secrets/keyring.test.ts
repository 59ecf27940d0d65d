import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadKeyring, parseKeyring } from '../../src/secrets/keyring.ts';

const KEY_A = Buffer.alloc(32, 1).toString('base64');
const KEY_B = Buffer.alloc(32, 2).toString('base64');

describe('SECRET_KEYS', () => {
  test('the first key is the current one, and all keys are available', () => {
    const keyring = parseKeyring(`b2:${KEY_B}, a1:${KEY_A}`);
    expect(keyring.current.id).toBe('b2');
    expect([...keyring.all.keys()]).toEqual(['b2', 'a1']);
    expect(keyring.all.get('b2')).toBe(keyring.current);
  });

  test('each purpose has a different key, and none is the master key', () => {
    const { encryptionKey, apiKeyHashKey } = parseKeyring(`a:${KEY_A}`).current;
    const keys = [encryptionKey, apiKeyHashKey].map((key) => key.export().toString('base64'));
    expect(new Set([...keys, KEY_A]).size).toBe(3);
  });

  test.each([
    ['nothing', ''],
    ['no ID', KEY_A],
    ['an ID in uppercase', `A:${KEY_A}`],
    ['an ID of 17 characters', `${'a'.repeat(17)}:${KEY_A}`],
    ['a key of 31 bytes', `a:${Buffer.alloc(31, 7).toString('base64')}`],
    ['a key of 33 bytes', `a:${Buffer.alloc(33, 7).toString('base64')}`],
    ['a key in hex', `a:${Buffer.alloc(32, 7).toString('hex')}`],
    ['a third part', `a:${KEY_A}:x`],
    ['the same ID twice', `a:${KEY_A},a:${KEY_B}`],
    ['a trailing comma', `a:${KEY_A},`],
  ])('%s is rejected without repeating the key', (_what, text) => {
    const error = catchError(() => parseKeyring(text));
    expect(error.message).toMatch(/^Entry \d/);
    for (const key of [KEY_A, KEY_B, 'BwcHBw', '070707']) expect(error.message).not.toContain(key);
  });

  test('printing or logging a keyring shows no key', () => {
    const keyring = parseKeyring(`a:${KEY_A}`);
    const { encryptionKey } = keyring.current;
    const printed = inspect(keyring, { depth: 10, showHidden: true }) + JSON.stringify(keyring.current);
    for (const encoding of ['base64', 'hex'] as const) {
      expect(printed).not.toContain(encryptionKey.export().toString(encoding).slice(0, 12));
      expect(printed).not.toContain(Buffer.alloc(32, 1).toString(encoding).slice(0, 12));
    }
  });
});

describe('without SECRET_KEYS', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tollgate-keyring-'));
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  test('a key is created once, readable only by its owner, and read on the next start', async () => {
    const nested = join(dataDir, 'not/there/yet');
    const first = await loadKeyring({ dataDir: nested });
    const second = await loadKeyring({ dataDir: nested });
    expect(fingerprint(second)).toBe(fingerprint(first));
    expect((await stat(join(nested, 'secret-keys'))).mode & 0o777).toBe(0o600);
    expect(await readdir(nested)).toEqual(['secret-keys']);
  });

  test('twenty starts at the same moment agree on one key', async () => {
    const keyrings = await Promise.all(Array.from({ length: 20 }, () => loadKeyring({ dataDir })));
    expect(new Set(keyrings.map(fingerprint)).size).toBe(1);
    expect(await readdir(dataDir)).toEqual(['secret-keys']);
  });

  test('two data directories get different keys with different IDs', async () => {
    const [a, b] = [
      await loadKeyring({ dataDir: join(dataDir, 'a') }),
      await loadKeyring({ dataDir: join(dataDir, 'b') }),
    ];
    expect(a.current.id).not.toBe(b.current.id);
    expect(fingerprint(a)).not.toBe(fingerprint(b));
  });

  test('a damaged file causes an error that names it, and is not changed', async () => {
    const path = join(dataDir, 'secret-keys');
    await writeFile(path, '');
    await expect(loadKeyring({ dataDir })).rejects.toThrow(path);
    expect(await readFile(path, 'utf8')).toBe('');
  });

  test('SECRET_KEYS overrides the file, which is then not created', async () => {
    expect((await loadKeyring({ secretKeys: `a:${KEY_A}`, dataDir })).current.id).toBe('a');
    expect(await readdir(dataDir)).toEqual([]);
  });
});

function fingerprint({ current }: ReturnType<typeof parseKeyring>): string {
  return `${current.id} ${current.encryptionKey.export().toString('hex')}`;
}

function catchError(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error('Nothing was thrown.');
}
