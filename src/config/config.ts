import { type IssuerConfig, parseAuthIssuers } from '../auth/issuer-config.ts';
import { type EgressAllow, parseEgressAllow } from '../egress/allow-list.ts';
import { checkTargetUrl } from '../egress/url.ts';
import { type FacilitatorCredential, parseKeySecret } from '../gateway/chain/facilitator-auth.ts';
import { findNetwork, type Network } from '../gateway/chain/networks.ts';
import { parseKeyring } from '../secrets/keyring.ts';
import { sentenceOf } from '../validation.ts';
import { type Environment, type Role, TEST_NETWORK, VARIABLES } from './variables.ts';

/** Where `npm run receiver` listens, the demo API of the sandbox, and the receiver of `npm run demo`. */
const DEVELOPMENT_TARGETS = [4010, 4011, 4012].map((port) => `127.0.0.1/32:${port}`).join(',');

/** Free, and for test networks only: https://docs.x402.org */
const PUBLIC_TEST_FACILITATOR = 'https://x402.org/facilitator';

export type ConsoleClient = {
  issuer: string;
  clientId: string;
  scopes: string;
  audience: string | null;
  /** Besides that of the issuer. */
  origins: string[];
};

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
  /** How people sign in to the web console; undefined when no client is registered for it. */
  consoleClient: ConsoleClient | undefined;
  retentionDays: number;
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
  for (const [name, { schema }] of Object.entries(VARIABLES)) {
    const result = schema.safeParse(env[name] === '' ? undefined : env[name], { error: sentenceOf });
    // With its default the others can be looked at too.
    values[name] = result.success ? result.data : schema.parse(undefined);
    if (!result.success) problems.push(`${name}: ${result.error.issues.map((issue) => issue.message).join('; ')}`);
  }
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
    consoleClient: undefined,
    retentionDays: settings.RETENTION_DAYS,
    corsOrigins: settings.CORS_ORIGINS,
    trustedProxies: settings.TRUSTED_PROXIES,
    logLevel: settings.LOG_LEVEL,
  };
  config.consoleClient = attempt('CONSOLE_ISSUER', () => consoleClient(settings, config.issuers), undefined);
  if (config.secretKeys) attempt('SECRET_KEYS', () => parseKeyring(config.secretKeys!), undefined);
  const named = new Set(problems.map(variableOf));
  if (production) {
    problems.push(...unsafeInProduction(config, settings).filter((problem) => !named.has(variableOf(problem))));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

const variableOf = (problem: string) => problem.split(':', 1)[0];

function consoleClient(settings: Environment, issuers: IssuerConfig[]): ConsoleClient | undefined {
  const { CONSOLE_CLIENT_ID: clientId, CONSOLE_SCOPES: scopes, CONSOLE_AUDIENCE: audience = null } = settings;
  if (clientId === undefined) return undefined;
  const issuer = settings.CONSOLE_ISSUER ?? issuers[0]?.issuer;
  if (!issuers.some((trusted) => trusted.issuer === issuer)) throw new Error('is not one of AUTH_ISSUERS');
  return { issuer: issuer!, clientId, scopes, audience, origins: settings.CONSOLE_ISSUER_ORIGINS };
}

function facilitatorCredential(settings: Environment): FacilitatorCredential {
  const { FACILITATOR_TOKEN: token, FACILITATOR_KEY_ID: keyId, FACILITATOR_KEY_SECRET: secret } = settings;
  if (keyId !== undefined && secret !== undefined) return { kind: 'key', keyId, key: parseKeySecret(secret) };
  if (keyId !== undefined || secret !== undefined) throw new Error('must be given together with FACILITATOR_KEY_ID');
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
