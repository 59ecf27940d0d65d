import { type IssuerConfig, parseAuthIssuers } from '../auth/issuer-config.ts';
import { type EgressAllow, parseEgressAllow } from '../egress/allow-list.ts';
import { checkTargetUrl } from '../egress/url.ts';
import { type FacilitatorCredential, parseKeySecret } from '../gateway/chain/facilitator-auth.ts';
import { findNetwork, type Network } from '../gateway/chain/networks.ts';
import { parseKeyring } from '../secrets/keyring.ts';
import { sentenceOf } from '../validation.ts';
import { OAUTH_VENDORS, type OauthApps, readOauthApp } from './oauth-apps.ts';
import { type Role, TEST_NETWORK, VARIABLES, type VariableValues } from './variables.ts';

/** The ports of `npm run receiver`, the sandbox's demo API, and the receiver of `npm run demo`. */
const DEVELOPMENT_ADDRESSES = [4010, 4011, 4012].map((port) => `127.0.0.1/32:${port}`).join(',');

/** Free, for test networks only: https://docs.x402.org */
const PUBLIC_TEST_FACILITATOR = 'https://x402.org/facilitator';

export type ConsoleClient = {
  issuer: string;
  clientId: string;
  scopes: string;
  audience: string | null;
  /** The identity provider's origins other than the issuer's. */
  origins: string[];
};

export type MailConfig = { from: string; via: { smtpUrl: string } | { resendApiKey: string } };

export type Config = {
  production: boolean;
  port: number;
  host: string;
  dataDir: string;
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  databaseReadUrl: string | undefined;
  databasePoolSize: number;
  roles: ReadonlySet<Role>;
  publicUrl: string | undefined;
  /** How notices are sent by email. Undefined if that isn't set up. */
  mail: MailConfig | undefined;
  /** If empty, the service uses the local dev issuer. */
  issuers: IssuerConfig[];
  secretKeys: string | undefined;
  egressAllow: EgressAllow;
  network: Network;
  facilitatorUrl: string;
  facilitatorCredential: FacilitatorCredential;
  rpcUrl: string;
  /** Whether to run the sandbox. It replaces the three settings above. */
  sandbox: boolean;
  /** How people sign in to the web console. Undefined if no client is registered. */
  consoleClient: ConsoleClient | undefined;
  /** The OAuth apps that sellers connect their accounts with. */
  oauthApps: OauthApps;
  retentionDays: number;
  corsOrigins: string[];
  trustedProxies: string[];
  logLevel: string;
};

/** The service can't start with this configuration. Each problem names its variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Reads the configuration from environment variables.
 *
 * @throws ConfigError that names every invalid, missing, or (in production) unsafe variable.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const problems: string[] = [];
  const values = {} as Record<string, unknown>;
  for (const [name, { schema }] of Object.entries(VARIABLES)) {
    const result = schema.safeParse(env[name] === '' ? undefined : env[name], { error: sentenceOf });
    // Falls back to the default so that the other variables are checked too.
    values[name] = result.success ? result.data : schema.parse(undefined);
    if (!result.success) problems.push(`${name}: ${result.error.issues.map((issue) => issue.message).join('; ')}`);
  }
  const variables = values as VariableValues;
  const production = variables.NODE_ENV === 'production';

  const attempt = <T>(name: string, read: () => T, fallback: T): T => {
    try {
      return read();
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
      return fallback;
    }
  };
  const nothing = parseEgressAllow('');
  const network = findNetwork(variables.NETWORK ?? TEST_NETWORK)!;
  const allowText = variables.EGRESS_ALLOW ?? (variables.NODE_ENV === 'development' ? DEVELOPMENT_ADDRESSES : '');
  const config: Config = {
    production,
    port: variables.PORT,
    host: variables.HOST ?? (production ? '0.0.0.0' : '127.0.0.1'),
    dataDir: variables.DATA_DIR,
    databaseUrl: variables.DATABASE_URL,
    databaseDirectUrl: variables.DATABASE_DIRECT_URL,
    databaseReadUrl: variables.DATABASE_READ_URL,
    databasePoolSize: variables.DATABASE_POOL_SIZE,
    roles: new Set(variables.ROLES),
    publicUrl: variables.PUBLIC_URL?.replace(/\/+$/, ''),
    mail: attempt('NOTIFY_FROM', () => mailConfig(variables), undefined),
    issuers: attempt(
      'AUTH_ISSUERS',
      () => (variables.AUTH_ISSUERS ? parseAuthIssuers(variables.AUTH_ISSUERS) : []),
      [],
    ),
    secretKeys: variables.SECRET_KEYS,
    egressAllow: attempt('EGRESS_ALLOW', () => parseEgressAllow(allowText), nothing),
    network,
    facilitatorUrl: variables.FACILITATOR_URL ?? PUBLIC_TEST_FACILITATOR,
    facilitatorCredential: attempt('FACILITATOR_KEY_SECRET', () => facilitatorCredential(variables), { kind: 'none' }),
    rpcUrl: variables.RPC_URL ?? network.rpcUrl,
    sandbox: isSandboxed(variables),
    consoleClient: undefined,
    oauthApps: {},
    retentionDays: variables.RETENTION_DAYS,
    corsOrigins: variables.CORS_ORIGINS,
    trustedProxies: variables.TRUSTED_PROXIES,
    logLevel: variables.LOG_LEVEL,
  };
  config.consoleClient = attempt('CONSOLE_ISSUER', () => consoleClient(variables, config.issuers), undefined);
  for (const vendor of OAUTH_VENDORS) {
    const name = `CONNECT_${vendor.toUpperCase()}_CLIENT_ID`;
    const app = attempt(name, () => readOauthApp(vendor, variables), undefined);
    if (app) config.oauthApps = { ...config.oauthApps, [vendor]: app };
  }
  if (config.secretKeys) attempt('SECRET_KEYS', () => parseKeyring(config.secretKeys!), undefined);
  for (const name of ['DATABASE_DIRECT_URL', 'DATABASE_READ_URL'] as const)
    if (variables[name] && !env.DATABASE_URL) problems.push(`${name}: must be set together with DATABASE_URL`);
  const named = new Set(problems.map(variableOf));
  if (production) {
    problems.push(...unsafeInProduction(config, variables).filter((problem) => !named.has(variableOf(problem))));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

const variableOf = (problem: string) => problem.split(':', 1)[0];

function consoleClient(variables: VariableValues, issuers: IssuerConfig[]): ConsoleClient | undefined {
  const { CONSOLE_CLIENT_ID: clientId, CONSOLE_SCOPES: scopes, CONSOLE_AUDIENCE: audience = null } = variables;
  if (clientId === undefined) return undefined;
  const issuer = variables.CONSOLE_ISSUER ?? issuers[0]?.issuer;
  if (!issuers.some((trusted) => trusted.issuer === issuer))
    throw new Error('must be one of the issuers in AUTH_ISSUERS');
  return { issuer: issuer!, clientId, scopes, audience, origins: variables.CONSOLE_ISSUER_ORIGINS };
}

function mailConfig(variables: VariableValues): MailConfig | undefined {
  const { NOTIFY_FROM: from, NOTIFY_SMTP_URL: smtpUrl, NOTIFY_RESEND_API_KEY: resendApiKey } = variables;
  if (smtpUrl !== undefined && resendApiKey !== undefined)
    throw new Error('set either NOTIFY_SMTP_URL or NOTIFY_RESEND_API_KEY, not both');
  const via = smtpUrl !== undefined ? { smtpUrl } : resendApiKey !== undefined ? { resendApiKey } : undefined;
  if ((via === undefined) !== (from === undefined))
    throw new Error('must be set together with NOTIFY_SMTP_URL or NOTIFY_RESEND_API_KEY');
  return via && { from: from!, via };
}

function facilitatorCredential(variables: VariableValues): FacilitatorCredential {
  const { FACILITATOR_TOKEN: token, FACILITATOR_KEY_ID: keyId, FACILITATOR_KEY_SECRET: secret } = variables;
  if (keyId !== undefined && secret !== undefined) return { kind: 'key', keyId, key: parseKeySecret(secret) };
  if (keyId !== undefined || secret !== undefined) throw new Error('must be set together with FACILITATOR_KEY_ID');
  return token === undefined ? { kind: 'none' } : { kind: 'token', token };
}

/** By default, the sandbox runs in development on a test network if no other facilitator is set. */
function isSandboxed({ SANDBOX, NODE_ENV, FACILITATOR_URL, NETWORK, ROLES: roles }: VariableValues): boolean {
  if (!roles.includes('gateway')) return false;
  if (SANDBOX !== undefined) return SANDBOX === 'on';
  const isTestNetwork = NETWORK === undefined || findNetwork(NETWORK)?.isTestnet === true;
  return NODE_ENV === 'development' && FACILITATOR_URL === undefined && isTestNetwork;
}

function unsafeInProduction(config: Config, variables: VariableValues): string[] {
  const problems: string[] = [];
  if (config.sandbox) problems.push('SANDBOX: must be off in production');
  if (config.roles.has('gateway')) {
    for (const name of ['FACILITATOR_URL', 'NETWORK'] as const)
      if (variables[name] === undefined)
        problems.push(`${name}: required in production for processes with the gateway role`);
    for (const [name, address] of [
      ['FACILITATOR_URL', config.facilitatorUrl],
      ['RPC_URL', config.rpcUrl],
    ] as const)
      if (!isSafeUrl(address)) problems.push(`${name}: ${address} must be a public https URL`);
  }
  if (config.issuers.length === 0) problems.push('AUTH_ISSUERS: production requires at least one issuer');
  for (const { issuer, jwksUri } of config.issuers) {
    // For some providers, the issuer is a name, not a URL. Their keys still come over HTTPS.
    const addresses = [...(URL.canParse(issuer) ? [issuer] : []), ...(jwksUri ? [jwksUri] : [])];
    for (const address of addresses)
      if (!isSafeUrl(address)) problems.push(`AUTH_ISSUERS: ${address} must be a public https URL`);
  }
  if (!config.secretKeys) problems.push('SECRET_KEYS: production requires at least one key');
  if (config.egressAllow.privateEntries.length > 0)
    problems.push('EGRESS_ALLOW: must not list loopback or private addresses in production');
  return problems;
}

/** Whether it is an https URL with a public host. Nobody can own a name under the domains that RFC 6761 reserves. */
function isSafeUrl(text: string): boolean {
  const target = checkTargetUrl(text, parseEgressAllow(''));
  return target.ok && target.url.protocol === 'https:' && !/\.(invalid|test|example)$/.test(target.url.hostname);
}
