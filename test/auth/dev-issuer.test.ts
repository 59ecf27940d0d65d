import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { createTokenVerifier, type TokenClaims } from '../../src/auth/jwt.ts';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/token.ts');
const runFile = promisify(execFile);
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
  test('makes tokens that the ordinary verifier accepts, with the tier and rate that were asked for', async () => {
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

  test('says nothing about the tier unless asked to', async () => {
    const claims = await verify(await (await openDevIssuer({ dataDir })).sign({ subject: 'alice' }));
    expect(claims).not.toHaveProperty('tier');
    expect(claims).not.toHaveProperty('requestsPerMinute');
  });

  test('keeps its key in a file for its owner only, and shows no private part of it', async () => {
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

  test('of another data directory is a stranger', async () => {
    const stranger = await openDevIssuer({ dataDir: join(dataDir, 'other') });
    await expect(verify(await stranger.sign({ subject: 'alice' }))).rejects.toThrow('No key of the issuer');
  });
});

describe('the token command', () => {
  const run = (...args: string[]) =>
    runFile(process.execPath, [SCRIPT, ...args], { env: { ...process.env, DATA_DIR: dataDir } });

  test('prints a token and nothing else', async () => {
    const { stdout, stderr } = await run('--sub', 'alice', '--tier', 'pro', '--expires', '90s');
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(stderr).toBe('');
    const claims = await verify(stdout.trim());
    expect(claims).toMatchObject({ subject: 'alice', tier: 'PRO' });
    expect(claims.expiresAt.getTime()).toBeLessThanOrEqual(Date.now() + 90_000);
  });

  test('signs in the user dev, whose tier stays as it is, when it is told nothing', async () => {
    const claims = await verify((await run()).stdout.trim());
    expect(claims.subject).toBe('dev');
    expect(claims).not.toHaveProperty('tier');
  });

  test('takes a rate for enterprise users', async () => {
    const limited = await run('--tier', 'enterprise', '--requests-per-minute', '5');
    expect(await verify(limited.stdout.trim())).toMatchObject({ tier: 'ENTERPRISE', requestsPerMinute: 5 });
    const unlimited = await run('--requests-per-minute', 'unlimited');
    expect(await verify(unlimited.stdout.trim())).toMatchObject({ requestsPerMinute: null });
  });

  test.each([
    [['--tier', 'gold'], 'Use one of starter, pro, business, enterprise.'],
    [['--tier', 'pro', '--requests-per-minute', '5'], 'enterprise only'],
    [['--requests-per-minute', '0'], '1 to 1000000, or unlimited'],
    [['--expires', '8'], 'such as 90s, 30m, 8h or 7d'],
    [['--expires', '367d'], 'at most 366d'],
    [['--sub', ''], '--sub must be 1 to 255'],
    [['--name', 'x'], "Unknown option '--name'"],
    [['alice'], 'alice'],
  ])('%j ends with status 1, a message, and nothing on standard output', async (args, message) => {
    const failure = await run(...args).then(
      () => undefined,
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
    expect(failure).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) });
  });
});
