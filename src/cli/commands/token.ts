import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openDevIssuer } from '../../auth/dev-issuer.ts';
import { normalEmail } from '../../auth/email.ts';
import { isSubject } from '../../auth/jwt.ts';
import { isRequestsPerMinute, MAX_REQUESTS_PER_MINUTE, parseTier, TIERS, type Tier } from '../../limits/tiers.ts';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { note, print, printJson } from '../output.ts';

type Options = {
  sub: string;
  tier?: string;
  requestsPerMinute?: string;
  email?: string;
  expires: string;
  json?: boolean;
};

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const MAX_LIFETIME_SECONDS = 366 * UNIT_SECONDS.d!;

export function addToken(program: Command): void {
  addExamples(
    program.command('token'),
    'tollgate token',
    'tollgate token --sub alice --tier pro',
    'tollgate token --sub ci --expires 30m --json',
  )
    .description('print a token from the local dev issuer; the server must use the same DATA_DIR')
    .option(
      '--sub <name>',
      'user name; the user is created on first use, and the console’s sign-in suggests alice too',
      'alice',
    )
    .option('--tier <tier>', `move the user to this tier: ${tierNames()} (default: unchanged; starter for new users)`)
    .option(
      '--requests-per-minute <n>',
      `rate limit for an enterprise user: 1 to ${MAX_REQUESTS_PER_MINUTE}, or unlimited`,
    )
    .option('--email <address>', 'verified email address, for accepting invitations')
    .option('--expires <time>', 'lifetime, such as 90s, 30m, 8h, or 7d', '8h')
    .option('--json', 'print one JSON document')
    .action(async (_options, command: Command) => {
      const options = command.opts<Options>();
      const token = await makeToken(options);
      if (options.json) printJson({ token });
      else print(token);
    });
}

async function makeToken({ sub, tier, requestsPerMinute, email, expires }: Options): Promise<string> {
  if (!isSubject(sub)) throw new Failure('usage', '--sub must be 1 to 255 printable characters.');
  const claims = {
    subject: sub,
    tier: readTier(tier),
    requestsPerMinute: readRequestsPerMinute(requestsPerMinute),
    email,
    expiresInSeconds: readLifetime(expires),
  };
  if (email !== undefined && normalEmail(email) === undefined)
    throw new Failure('usage', '--email must be an email address.');
  if (claims.requestsPerMinute !== undefined && (claims.tier ?? 'ENTERPRISE') !== 'ENTERPRISE') {
    throw new Failure('usage', '--requests-per-minute applies only to the enterprise tier.');
  }
  const dataDir = process.env.DATA_DIR || '.data';
  if (!existsSync(join(dataDir, 'dev-issuer.json')))
    note(
      `No server has used the data directory ${dataDir} yet. Only a server with this DATA_DIR will accept the token.`,
    );
  const issuer = await openDevIssuer({ dataDir });
  return issuer.sign(claims);
}

function readTier(name: string | undefined): Tier | undefined {
  if (name === undefined) return undefined;
  const tier = parseTier(name);
  if (!tier) throw new Failure('usage', `Unknown tier "${name}". Use one of ${tierNames()}.`);
  return tier;
}

function readRequestsPerMinute(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'unlimited') return null;
  if (!/^\d+$/.test(text) || !isRequestsPerMinute(Number(text))) {
    throw new Failure('usage', `--requests-per-minute must be 1 to ${MAX_REQUESTS_PER_MINUTE}, or unlimited.`);
  }
  return Number(text);
}

function readLifetime(text: string): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const seconds = match ? Number(match[1]) * UNIT_SECONDS[match[2]!]! : 0;
  if (seconds < 1 || seconds > MAX_LIFETIME_SECONDS) {
    throw new Failure('usage', '--expires must be a duration such as 90s, 30m, 8h, or 7d, and at most 366d.');
  }
  return seconds;
}

function tierNames(): string {
  return Object.keys(TIERS).join(', ').toLowerCase();
}
