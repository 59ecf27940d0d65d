import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { createTokenVerifier, type TokenClaims } from '../../src/auth/jwt.ts';
import { runCli } from '../support/cli.ts';

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-token-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

const run = (...args: string[]) => runCli(['token', ...args], { DATA_DIR: dataDir });

async function verify(token: string): Promise<TokenClaims> {
  const { config } = await openDevIssuer({ dataDir });
  const fetchJson = () => Promise.reject(new Error('The dev issuer publishes nothing.'));
  const verifier = createTokenVerifier({ issuers: [config], fetchJson, log: pino({ level: 'silent' }), now: Date.now });
  await verifier.start();
  return verifier.verify(token);
}

test('token warns on standard error if no server has used the data directory yet', async () => {
  const first = await run();
  expect(first.stderr).toBe(
    `No server has used the data directory ${dataDir} yet. Only a server with this DATA_DIR will accept the token.\n`,
  );
  expect((await verify(first.stdout.trim())).subject).toBe('alice');
});

test('token prints only a token', async () => {
  await openDevIssuer({ dataDir });
  const { stdout, stderr } = await run('--sub', 'alice', '--tier', 'pro', '--expires', '90s');
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  expect(stderr).toBe('');
  const claims = await verify(stdout.trim());
  expect(claims).toMatchObject({ subject: 'alice', tier: 'PRO' });
  expect(claims.expiresAt.getTime()).toBeLessThanOrEqual(Date.now() + 90_000);
});

test('token without options creates a token for alice, as the console’s sign-in suggests, and leaves the tier unchanged', async () => {
  const claims = await verify((await run()).stdout.trim());
  expect(claims.subject).toBe('alice');
  expect(claims).not.toHaveProperty('tier');
});

test('token accepts a rate for enterprise users', async () => {
  const limited = await run('--tier', 'enterprise', '--requests-per-minute', '5');
  expect(await verify(limited.stdout.trim())).toMatchObject({ tier: 'ENTERPRISE', requestsPerMinute: 5 });
  const unlimited = await run('--requests-per-minute', 'unlimited');
  expect(await verify(unlimited.stdout.trim())).toMatchObject({ requestsPerMinute: null });
});

test('token sets a verified email address', async () => {
  const { stdout } = await run('--email', 'Bob@example.com');
  expect(await verify(stdout.trim())).toMatchObject({ subject: 'alice', email: 'bob@example.com' });
});

test.each([
  [['--email', 'bob'], '--email must be an email address'],
  [['--tier', 'gold'], 'Use one of starter, pro, business, enterprise.'],
  [['--tier', 'pro', '--requests-per-minute', '5'], 'only to the enterprise tier'],
  [['--requests-per-minute', '0'], '1 to 1000000, or unlimited'],
  [['--expires', '8'], 'such as 90s, 30m, 8h, or 7d'],
  [['--expires', '367d'], 'at most 366d'],
  [['--sub', ''], '--sub must be 1 to 255'],
  [['--name', 'x'], "unknown option '--name'"],
  [['alice'], 'too many arguments'],
])('token %j exits with 2 and a message, and prints nothing to standard output', async (args, message) => {
  expect(await run(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});
