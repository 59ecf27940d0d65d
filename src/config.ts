import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type IssuerConfig, parseAuthIssuers } from './auth/issuer-config.ts';
import { type EgressAllow, parseEgressAllow } from './egress/allow-list.ts';
import { checkTargetUrl } from './egress/url.ts';
import { type FacilitatorCredential, parseKeySecret } from './gateway/facilitator-auth.ts';
import { findNetwork, NETWORK_IDS, type Network } from './gateway/networks.ts';
import { parseKeyring } from './secrets/keyring.ts';

export const ROLES = ['api', 'gateway', 'worker'] as const;
export type Role = (typeof ROLES)[number];

const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

/** Where `npm run receiver` listens, the demo API of the sandbox, and the receiver of `npm run demo`. */
const DEVELOPMENT_TARGETS = [4010, 4011, 4012].map((port) => `127.0.0.1/32:${port}`).join(',');

/** A list each of whose members has to pass. */
const checkedList = (isGood: (item: string) => boolean, form: string) =>
  z
    .string()
    .default('')
    .transform(list)
    .pipe(z.array(z.string().refine(isGood, { error: ({ input }) => `${input} is not ${form}` })));

const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text;

/** Digits only: `Number` would also read blanks as 0. */
const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max, `must be from ${min} to ${max}`));

const TEST_NETWORK = 'eip155:84532';
/** Free, and for test networks only: https://docs.x402.org */
const PUBLIC_TEST_FACILITATOR = 'https://x402.org/facilitator';

const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

/** Every setting: how it is read, and the line of `docs/configuration.md` that explains it. */
export const SETTINGS = {
  NODE_ENV: {
    schema: z.enum(['development', 'production', 'test']).default('development'),
    help: '`production` refuses to start with anything unsafe: a missing or insecure issuer, no `SECRET_KEYS`, an open `EGRESS_ALLOW`, no facilitator.',
  },
  PORT: { schema: wholeNumber(0, 65535).default(4000), help: 'TCP port to serve on.' },
  HOST: {
    schema: z.string().optional(),
    help: 'Address to listen on. Default `127.0.0.1`, in production `0.0.0.0`.',
  },
  DATA_DIR: {
    schema: z.string().min(1).default('.data'),
    help: 'Folder of the embedded database and of the keys that are made on first start.',
  },
  DATABASE_URL: {
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }).optional(),
    help: 'PostgreSQL 15 or later. Without it an embedded PostgreSQL is run in `DATA_DIR`.',
  },
  DATABASE_POOL_SIZE: {
    schema: wholeNumber(2, 500).default(20),
    help: 'Most connections this process opens to PostgreSQL, besides one for LISTEN.',
  },
  ROLES: {
    schema: z
      .string()
      .default(ROLES.join(','))
      .transform(list)
      .pipe(z.array(z.enum(ROLES)).min(1)),
    help: 'What this process does: any of `api`, `gateway`, `worker`, separated by commas.',
  },
  PUBLIC_URL: {
    schema: url.optional(),
    help: 'Address under which users reach this service; used in links. Default: the address it listens on.',
  },
  AUTH_ISSUERS: {
    schema: z.string().optional(),
    help: 'JSON list of trusted token issuers, see [authentication](authentication.md). Default in development: the local dev issuer.',
  },
  SECRET_KEYS: {
    schema: z.string().optional(),
    help: 'Keys that encrypt stored secrets: `id:base64` of 32 bytes, newest first, separated by commas. In development made on first start.',
  },
  EGRESS_ALLOW: {
    schema: z.string().optional(),
    help: 'Non-public targets that may be called, as `CIDR:port`, separated by commas. Default in development the ports 4010 to 4012 of `127.0.0.1`, else none.',
  },
  NETWORK: {
    schema: z
      .string()
      .optional()
      .refine((name) => name === undefined || findNetwork(name) !== undefined, {
        error: `must be one of ${NETWORK_IDS.join(', ')}`,
      }),
    help: 'Chain that payments are made on: `eip155:8453` (Base) or `eip155:84532` (Base Sepolia, the default outside of production).',
  },
  FACILITATOR_URL: {
    schema: url.optional(),
    help: 'Base URL of the x402 facilitator that verifies and settles payments. Default outside of production: the sandbox, or without it `https://x402.org/facilitator`.',
  },
  FACILITATOR_TOKEN: {
    schema: z.string().optional(),
    help: 'Bearer token for the facilitator.',
  },
  FACILITATOR_KEY_ID: {
    schema: z.string().optional(),
    help: 'Id of a Coinbase Developer Platform key; each request to the facilitator then carries a token signed with it.',
  },
  FACILITATOR_KEY_SECRET: {
    schema: z.string().optional(),
    help: 'The secret of that key: Ed25519 in base64, or an EC key in PEM.',
  },
  RPC_URL: {
    schema: url.optional(),
    help: 'JSON-RPC node of the network, asked what became of settlements that gave no clear answer. Default: a public one of the network.',
  },
  SANDBOX: {
    schema: z.enum(['on', 'off']).optional(),
    help: 'Whether a local chain, a token, a facilitator, a demo API and a funded wallet are run beside the service. Default: `on` in development when no `FACILITATOR_URL` is set.',
  },
  CORS_ORIGINS: {
    schema: checkedList((item) => item === '*' || isOrigin(item), 'an origin such as https://console.example'),
    help: 'Origins whose pages may call the API from a browser, separated by commas.',
  },
  TRUSTED_PROXIES: {
    schema: checkedList((item) => ipaddr.isValid(item) || ipaddr.isValidCIDR(item), 'an address or a CIDR'),
    help: 'CIDRs of the load balancers whose `X-Forwarded-For` is believed, separated by commas.',
  },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    help: 'Least severe log line that is written.',
  },
} as const;

type Environment = { [K in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[K]['schema']> };

export type Config = {
  production: boolean;
  port: number;
  host: string;
  dataDir: string;
  databaseUrl: string | undefined;
  databasePoolSize: number;
  roles: ReadonlySet<Role>;
  publicUrl: string | undefined;
  /** Empty: the local dev issuer. */
  issuers: IssuerConfig[];
  secretKeys: string | undefined;
  egressAllow: EgressAllow;
  network: Network;
  facilitatorUrl: string;
  facilitatorCredential: FacilitatorCredential;
  rpcUrl: string;
  /** Whether to run the local chain and what belongs to it, which then replaces the three above. */
  sandbox: boolean;
  corsOrigins: string[];
  trustedProxies: string[];
  logLevel: string;
};

/** A configuration that cannot be started with; each problem names its variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Reads the configuration from environment variables.
 *
 * @throws ConfigError naming every variable that is wrong, missing, or unsafe in production.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const problems: string[] = [];
  const values = {} as Record<string, unknown>;
  for (const [name, { schema }] of Object.entries(SETTINGS)) {
    const result = schema.safeParse(env[name] === '' ? undefined : env[name]);
    if (result.success) values[name] = result.data;
    else problems.push(`${name}: ${result.error.issues.map((issue) => issue.message).join('; ')}`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const settings = values as Environment;
  const production = settings.NODE_ENV === 'production';

  const attempt = <T>(name: string, read: () => T, fallback: T): T => {
    try {
      return read();
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
      return fallback;
    }
  };
  const nothing = parseEgressAllow('');
  const network = findNetwork(settings.NETWORK ?? TEST_NETWORK)!;
  const allowText = settings.EGRESS_ALLOW ?? (settings.NODE_ENV === 'development' ? DEVELOPMENT_TARGETS : '');
  const config: Config = {
    production,
    port: settings.PORT,
    host: settings.HOST ?? (production ? '0.0.0.0' : '127.0.0.1'),
    dataDir: settings.DATA_DIR,
    databaseUrl: settings.DATABASE_URL,
    databasePoolSize: settings.DATABASE_POOL_SIZE,
    roles: new Set(settings.ROLES),
    publicUrl: settings.PUBLIC_URL?.replace(/\/+$/, ''),
    issuers: attempt('AUTH_ISSUERS', () => (settings.AUTH_ISSUERS ? parseAuthIssuers(settings.AUTH_ISSUERS) : []), []),
    secretKeys: settings.SECRET_KEYS,
    egressAllow: attempt('EGRESS_ALLOW', () => parseEgressAllow(allowText), nothing),
    network,
    facilitatorUrl: settings.FACILITATOR_URL ?? PUBLIC_TEST_FACILITATOR,
    facilitatorCredential: attempt('FACILITATOR_KEY_SECRET', () => facilitatorCredential(settings), { kind: 'none' }),
    rpcUrl: settings.RPC_URL ?? network.rpcUrl,
    sandbox: isSandboxed(settings),
    corsOrigins: settings.CORS_ORIGINS,
    trustedProxies: settings.TRUSTED_PROXIES,
    logLevel: settings.LOG_LEVEL,
  };
  if (config.secretKeys) attempt('SECRET_KEYS', () => parseKeyring(config.secretKeys!), undefined);
  if (production) problems.push(...unsafeInProduction(config, settings));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function facilitatorCredential(settings: Environment): FacilitatorCredential {
  const { FACILITATOR_TOKEN: token, FACILITATOR_KEY_ID: keyId, FACILITATOR_KEY_SECRET: secret } = settings;
  if (keyId !== undefined && secret !== undefined) return { kind: 'key', keyId, key: parseKeySecret(secret) };
  if (keyId !== undefined || secret !== undefined) throw new Error('is given together with FACILITATOR_KEY_ID');
  return token === undefined ? { kind: 'none' } : { kind: 'token', token };
}

/** The sandbox is one test network on this machine, for whoever develops. */
function isSandboxed({ SANDBOX, NODE_ENV, FACILITATOR_URL, NETWORK, ROLES: roles }: Environment): boolean {
  if (!roles.includes('gateway')) return false;
  if (SANDBOX !== undefined) return SANDBOX === 'on';
  const isTestNetwork = NETWORK === undefined || findNetwork(NETWORK)?.isTestnet === true;
  return NODE_ENV === 'development' && FACILITATOR_URL === undefined && isTestNetwork;
}

function unsafeInProduction(config: Config, settings: Environment): string[] {
  const problems: string[] = [];
  if (config.sandbox) problems.push('SANDBOX: production must not run it');
  if (config.roles.has('gateway')) {
    for (const name of ['FACILITATOR_URL', 'NETWORK'] as const)
      if (settings[name] === undefined) problems.push(`${name}: production with the gateway needs it`);
    for (const [name, address] of [
      ['FACILITATOR_URL', config.facilitatorUrl],
      ['RPC_URL', config.rpcUrl],
    ] as const)
      if (!isSafeUrl(address)) problems.push(`${name}: ${address} must be https and not local`);
  }
  if (config.issuers.length === 0) problems.push('AUTH_ISSUERS: production needs at least one issuer');
  for (const { issuer, jwksUri } of config.issuers) {
    // Some providers have a name for an issuer and no URL; their keys come by https all the same.
    const addresses = [...(URL.canParse(issuer) ? [issuer] : []), ...(jwksUri ? [jwksUri] : [])];
    for (const address of addresses)
      if (!isSafeUrl(address)) problems.push(`AUTH_ISSUERS: ${address} must be https and not local`);
  }
  if (!config.secretKeys) problems.push('SECRET_KEYS: production needs at least one key');
  if (config.egressAllow.privateEntries.length > 0)
    problems.push('EGRESS_ALLOW: production must not open loopback or private targets');
  return problems;
}

/** An https URL of a public host. Nobody can own a name under the reserved domains of RFC 6761. */
function isSafeUrl(text: string): boolean {
  const target = checkTargetUrl(text, parseEgressAllow(''));
  return target.ok && target.url.protocol === 'https:' && !/\.(invalid|test|example)$/.test(target.url.hostname);
}
