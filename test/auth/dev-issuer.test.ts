import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { createTokenVerifier, type TokenClaims } from '../../src/auth/jwt.ts';

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-dev-issuer-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

async function verify(token: string, now: () => number = Date.now): Promise<TokenClaims> {
  const { config } = await openDevIssuer({ dataDir });
  const fetchJson = () => Promise.reject(new Error('The dev issuer publishes nothing.'));
  const verifier = createTokenVerifier({ issuers: [config], fetchJson, log: pino({ level: 'silent' }), now });
  await verifier.start();
  return verifier.verify(token);
}

describe('the dev issuer', () => {
  test('signs tokens that have the requested tier and rate and that the regular verifier accepts', async () => {
    const issuer = await openDevIssuer({ dataDir });
    const token = await issuer.sign({
      subject: 'alice',
      tier: 'ENTERPRISE',
      requestsPerMinute: 7,
      expiresInSeconds: 60,
    });
    const claims = await verify(token);
    expect(claims).toMatchObject({
      issuer: issuer.config.issuer,
      subject: 'alice',
      tier: 'ENTERPRISE',
      requestsPerMinute: 7,
    });
    await expect(verify(token, () => claims.expiresAt.getTime() + 31_000)).rejects.toThrow('The token has expired.');
  });

  test('leaves out the tier and the rate unless they are requested', async () => {
    const claims = await verify(await (await openDevIssuer({ dataDir })).sign({ subject: 'alice' }));
    expect(claims).not.toHaveProperty('tier');
    expect(claims).not.toHaveProperty('requestsPerMinute');
  });

  test('keeps its key in a file that only its owner can read, and never exposes the private key', async () => {
    const issuers = await Promise.all(Array.from({ length: 10 }, () => openDevIssuer({ dataDir })));
    expect(await readdir(dataDir)).toEqual(['dev-issuer.json']);
    const path = join(dataDir, 'dev-issuer.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const { d } = JSON.parse(await readFile(path, 'utf8'));
    expect(d).toEqual(expect.any(String));
    for (const { config } of issuers) {
      expect(config).toEqual(issuers[0]!.config);
      expect(JSON.stringify(config)).not.toContain(d);
    }
  });

  test('does not accept tokens from a dev issuer with another data directory', async () => {
    const stranger = await openDevIssuer({ dataDir: join(dataDir, 'other') });
    await expect(verify(await stranger.sign({ subject: 'alice' }))).rejects.toThrow(
      'does not match any key of its issuer',
    );
  });
});
