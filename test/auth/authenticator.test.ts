import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { expect, test } from 'vitest';
import { newApiKey } from '../../src/auth/api-keys.ts';
import { createAuthenticator } from '../../src/auth/viewer.ts';
import type { Database } from '../../src/database/client.ts';
import { parseKeyring } from '../../src/secrets/keyring.ts';

const keyring = parseKeyring(`key:${randomBytes(32).toString('base64')}`);

test('the callers of one address use at most a quarter of the connections, and others do not wait for them', async () => {
  const lookups: PromiseWithResolvers<{ rows: [] }>[] = [];
  const query = () => {
    const lookup = Promise.withResolvers<{ rows: [] }>();
    lookups.push(lookup);
    return lookup.promise;
  };
  const authenticator = createAuthenticator({
    db: { pool: { query } } as unknown as Pick<Database, 'pool'>,
    poolSize: 12,
    verifier: { verify: () => Promise.reject(new Error('There is no token.')) },
    keyring,
    log: pino({ level: 'silent' }),
  });
  const authenticate = (address: string) =>
    authenticator.authenticate(`Bearer ${newApiKey('LIVE')}`, address).catch(({ code }) => code);

  const flood = Array.from({ length: 20 }, (_, index) => authenticate(`2001:db8::${index}`));
  await expect.poll(() => lookups.length).toBe(3);
  const other = authenticate('203.0.113.9');
  await expect.poll(() => lookups.length).toBe(4);
  lookups[3]!.resolve({ rows: [] });
  expect(await other).toBe('UNAUTHENTICATED');
  expect(lookups).toHaveLength(4);

  for (let next = 0; next < 21; next++) {
    await expect.poll(() => lookups.length).toBeGreaterThan(next);
    lookups[next]!.resolve({ rows: [] });
  }
  expect(new Set(await Promise.all(flood))).toEqual(new Set(['UNAUTHENTICATED']));
});
