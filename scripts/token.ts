/**
 * Prints a token of the local dev issuer and nothing else, for `TOKEN=$(npm run --silent token -- --sub alice)`. The
 * server must use the same `DATA_DIR`.
 */
import { parseArgs } from 'node:util';
import { openDevIssuer } from '../src/auth/dev-issuer.ts';
import { isSubject } from '../src/auth/jwt.ts';
import { isRequestsPerMinute, MAX_REQUESTS_PER_MINUTE, parseTier, TIERS, type Tier } from '../src/limits/tiers.ts';

const HELP = `Prints a token for a server in development.

  npm run --silent token -- [--sub NAME] [--tier TIER] [--requests-per-minute N] [--expires TIME]

  --sub NAME                 who signs in; the user is made on first sight (default: dev)
  --tier TIER                ${tierNames()}: the user is moved to it (default: stays as it is, new users are starter)
  --requests-per-minute N    rate of an enterprise user: 1 to ${MAX_REQUESTS_PER_MINUTE}, or unlimited
  --expires TIME             lifetime, such as 90s, 30m, 8h, 7d (default: 8h)
`;

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const MAX_LIFETIME_SECONDS = 366 * UNIT_SECONDS.d!;

try {
  process.stdout.write(`${await run()}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<string> {
  const { values } = parseArgs({
    options: {
      sub: { type: 'string', default: 'dev' },
      tier: { type: 'string' },
      'requests-per-minute': { type: 'string' },
      expires: { type: 'string', default: '8h' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return HELP.trimEnd();
  if (!isSubject(values.sub)) throw new Error('--sub must be 1 to 255 printable characters.');
  const claims = {
    subject: values.sub,
    tier: readTier(values.tier),
    requestsPerMinute: readRequestsPerMinute(values['requests-per-minute']),
    expiresInSeconds: readLifetime(values.expires),
  };
  if (claims.requestsPerMinute !== undefined && (claims.tier ?? 'ENTERPRISE') !== 'ENTERPRISE') {
    throw new Error('--requests-per-minute counts for the tier enterprise only.');
  }
  const issuer = await openDevIssuer({ dataDir: process.env.DATA_DIR || '.data' });
  return issuer.sign(claims);
}

function readTier(name: string | undefined): Tier | undefined {
  if (name === undefined) return undefined;
  const tier = parseTier(name);
  if (!tier) throw new Error(`There is no tier "${name}". Use one of ${tierNames()}.`);
  return tier;
}

function readRequestsPerMinute(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'unlimited') return null;
  if (!/^\d+$/.test(text) || !isRequestsPerMinute(Number(text))) {
    throw new Error(`--requests-per-minute must be 1 to ${MAX_REQUESTS_PER_MINUTE}, or unlimited.`);
  }
  return Number(text);
}

function readLifetime(text: string): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const seconds = match ? Number(match[1]) * UNIT_SECONDS[match[2]!]! : 0;
  if (seconds < 1 || seconds > MAX_LIFETIME_SECONDS) {
    throw new Error('--expires must be a time such as 90s, 30m, 8h or 7d, at most 366d.');
  }
  return seconds;
}

function tierNames(): string {
  return Object.keys(TIERS).join(', ').toLowerCase();
}
