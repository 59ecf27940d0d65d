import { DEV_ISSUER, type IssuerConfig, parseAuthIssuers } from '../auth/issuer-config.ts';
import { type Operator, parseOperators } from '../auth/operators.ts';
import { type EgressAllow, parseEgressAllow } from '../egress/allow-list.ts';
import { type EgressProxy, parseEgressProxy } from '../egress/proxy.ts';
import { type FacilitatorCredential, parseKeySecret } from '../gateway/chain/facilitator-auth.ts';
import { checkSecretKeys } from '../secrets/keyring.ts';
import { maskUrl } from '../secrets/mask-url.ts';
import { sentenceOf } from '../validation.ts';
import { isSameOrUnder } from './domains.ts';
import {
  areTestNetworks,
  networkProblems,
  PUBLIC_TEST_FACILITATOR,
  readNetworks,
  type ServedNetwork,
} from './networks.ts';
import { OAUTH_VENDORS, type OauthApps, readOauthApp } from './oauth-apps.ts';
import {
  developmentAddresses,
  isSafeUrl,
  isTooWide,
  TOO_WIDE,
  TRUSTS_TOO_MANY,
  trustsTooMany,
  UNSAFE_URL,
} from './openings.ts';
import { type ProjectAllow, parseProjectAllow } from './project-allow.ts';
import { type Role, VARIABLES, type VariableValues } from './variables.ts';

export type ConsoleClient = {
  issuer: string;
  clientId: string;
  scopes: string;
  audience: string | null;
  /** The identity provider's origins, in addition to the issuer's. */
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
  databasePoolSize: number;
  roles: ReadonlySet<Role>;
  publicUrl: string | undefined;
  /** Each project has a name under this domain. Undefined if the operator hasn't set one. */
  gatewayDomain: string | undefined;
  /** How notices are sent by email. Undefined if that isn't set up. */
  mail: MailConfig | undefined;
  /** If empty, the service uses the local dev issuer. */
  issuers: IssuerConfig[];
  /** The people who run this server. */
  operators: readonly Operator[];
  secretKeys: string | undefined;
  egressAllow: EgressAllow;
  /** The addresses that upstreams can have. Includes `egressAllow`. */
  upstreamAllow: ProjectAllow;
  /** The addresses that webhooks and their token URLs can have. Includes `egressAllow`. */
  webhookAllow: ProjectAllow;
  /** The addresses that the URLs in this configuration can have, in addition to `egressAllow`. */
  serviceAllow: EgressAllow;
  egressProxy: EgressProxy | undefined;
  /** Preferred first. Empty if they aren't known, which is possible in production without the `gateway` role. */
  networks: readonly ServedNetwork[];
  /** The facilitator that the credential is for. Networks can have their own facilitators. */
  facilitatorUrl: string;
  facilitatorCredential: FacilitatorCredential;
  /** Whether to run the sandbox. It replaces the facilitators and nodes above. */
  sandbox: boolean;
  /** Whether browsers that open `/graphql` get the GraphQL explorer. */
  graphqlExplorer: boolean;
  /** How people sign in to the web console. Undefined if no client is registered. */
  consoleClient: ConsoleClient | undefined;
  /** The OAuth apps that sellers connect their accounts with. */
  oauthApps: OauthApps;
  /** The maximum age of a sign-in, in seconds, for changing who is paid. Undefined means no maximum. */
  recentSignInSeconds: number | undefined;
  retentionDays: number;
  corsOrigins: string[];
  trustedProxies: string[];
  logLevel: string;
  logFormat: 'json' | 'text';
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
  problems.push(...networkProblems(variables));
  const networks = readNetworks(variables);
  const { UPSTREAM_ALLOW = '', WEBHOOK_ALLOW = '', SERVICE_ALLOW = '', EGRESS_PROXY } = variables;
  const host = variables.HOST ?? (production ? '0.0.0.0' : '127.0.0.1');
  const allowText = variables.EGRESS_ALLOW ?? developmentAddresses(variables, host);
  const egressAllow = attempt('EGRESS_ALLOW', () => parseEgressAllow(allowText), nothing);
  const config: Config = {
    production,
    port: variables.PORT,
    host,
    dataDir: variables.DATA_DIR,
    databaseUrl: variables.DATABASE_URL,
    databaseDirectUrl: variables.DATABASE_DIRECT_URL,
    databasePoolSize: variables.DATABASE_POOL_SIZE,
    roles: new Set(variables.ROLES),
    publicUrl: variables.PUBLIC_URL && new URL(variables.PUBLIC_URL).origin,
    gatewayDomain: attempt('GATEWAY_DOMAIN', () => gatewayDomain(variables), undefined),
    mail: attempt('NOTIFY_FROM', () => mailConfig(variables), undefined),
    issuers: attempt(
      'AUTH_ISSUERS',
      () => (variables.AUTH_ISSUERS ? parseAuthIssuers(variables.AUTH_ISSUERS) : []),
      [],
    ),
    operators: [],
    secretKeys: variables.SECRET_KEYS,
    egressAllow,
    upstreamAllow: attempt(
      'UPSTREAM_ALLOW',
      () => parseProjectAllow(UPSTREAM_ALLOW, egressAllow),
      parseProjectAllow('', egressAllow),
    ),
    webhookAllow: attempt(
      'WEBHOOK_ALLOW',
      () => parseProjectAllow(WEBHOOK_ALLOW, egressAllow),
      parseProjectAllow('', egressAllow),
    ),
    serviceAllow: attempt('SERVICE_ALLOW', () => parseEgressAllow(SERVICE_ALLOW), nothing),
    egressProxy: attempt('EGRESS_PROXY', () => (EGRESS_PROXY ? parseEgressProxy(EGRESS_PROXY) : undefined), undefined),
    networks,
    facilitatorUrl: variables.FACILITATOR_URL ?? PUBLIC_TEST_FACILITATOR,
    facilitatorCredential: attempt('FACILITATOR_KEY_SECRET', () => facilitatorCredential(variables), { kind: 'none' }),
    sandbox: isSandboxed(variables, networks),
    graphqlExplorer: (variables.GRAPHQL_EXPLORER ?? (production ? 'off' : 'on')) === 'on',
    consoleClient: undefined,
    oauthApps: {},
    recentSignInSeconds: variables.RECENT_SIGN_IN_SECONDS,
    retentionDays: variables.RETENTION_DAYS,
    corsOrigins: variables.CORS_ORIGINS,
    trustedProxies: variables.TRUSTED_PROXIES,
    logLevel: variables.LOG_LEVEL,
    logFormat: variables.LOG_FORMAT ?? (!production && process.stdout.isTTY ? 'text' : 'json'),
  };
  config.operators = attempt('OPERATORS', () => operators(variables, config), []);
  config.consoleClient = attempt('CONSOLE_ISSUER', () => consoleClient(variables, config.issuers), undefined);
  for (const vendor of OAUTH_VENDORS) {
    const name = `CONNECT_${vendor.toUpperCase()}_CLIENT_ID`;
    const app = attempt(name, () => readOauthApp(vendor, variables), undefined);
    if (app) config.oauthApps = { ...config.oauthApps, [vendor]: app };
  }
  if (config.secretKeys) attempt('SECRET_KEYS', () => checkSecretKeys(config.secretKeys!), undefined);
  if (variables.DATABASE_DIRECT_URL && !env.DATABASE_URL)
    problems.push('DATABASE_DIRECT_URL: must be set together with DATABASE_URL');
  const named = new Set(problems.map(variableOf));
  if (production) {
    problems.push(...unsafeInProduction(config, variables).filter((problem) => !named.has(variableOf(problem))));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

const variableOf = (problem: string) => problem.split(':', 1)[0];

/**
 * In production, the dev issuer's users can't be operators, because anyone who can read its key file can sign its
 * tokens.
 */
function operators({ OPERATORS }: VariableValues, { issuers, production }: Config): readonly Operator[] {
  const trusted = issuers.length > 0 || production ? issuers.map(({ issuer }) => issuer) : [DEV_ISSUER];
  return OPERATORS === undefined ? [] : parseOperators(OPERATORS, trusted);
}

function consoleClient(variables: VariableValues, issuers: IssuerConfig[]): ConsoleClient | undefined {
  const { CONSOLE_CLIENT_ID: clientId, CONSOLE_SCOPES: scopes, CONSOLE_AUDIENCE: audience = null } = variables;
  if (clientId === undefined) return undefined;
  const issuer = variables.CONSOLE_ISSUER ?? issuers[0]?.issuer;
  if (!issuers.some((trusted) => trusted.issuer === issuer))
    throw new Error('must be one of the issuers in AUTH_ISSUERS');
  return { issuer: issuer!, clientId, scopes, audience, origins: variables.CONSOLE_ISSUER_ORIGINS };
}

/** Sellers' responses must not be served from a domain that people and browsers associate with the service itself. */
function gatewayDomain({ GATEWAY_DOMAIN: domain, PUBLIC_URL: publicUrl, NODE_ENV }: VariableValues) {
  if (domain === undefined) return undefined;
  if (publicUrl === undefined && NODE_ENV === 'production') throw new Error('requires PUBLIC_URL in production');
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  if (own !== undefined && (isSameOrUnder(own, domain) || isSameOrUnder(domain, own)))
    throw new Error('must not be the host of PUBLIC_URL, one of its subdomains, or one of its parent domains');
  return domain;
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

/** By default, the sandbox runs in development on test networks if no other facilitator is set. */
function isSandboxed(variables: VariableValues, networks: readonly ServedNetwork[]): boolean {
  const { SANDBOX, NODE_ENV, FACILITATOR_URL, FACILITATOR_URLS, ROLES: roles } = variables;
  if (!roles.includes('gateway')) return false;
  if (SANDBOX !== undefined) return SANDBOX === 'on';
  const hasFacilitator = FACILITATOR_URL !== undefined || FACILITATOR_URLS !== undefined;
  return NODE_ENV === 'development' && !hasFacilitator && areTestNetworks(networks);
}

function unsafeInProduction(config: Config, variables: VariableValues): string[] {
  const { serviceAllow, upstreamAllow, webhookAllow } = config;
  const problems: string[] = [];
  if (config.sandbox) problems.push('SANDBOX: must be off in production');
  if (config.roles.has('gateway')) {
    problems.push(...unsafeNetworks(config, variables));
  }
  if (config.issuers.length === 0) problems.push('AUTH_ISSUERS: production requires at least one issuer');
  for (const { issuer, jwksUri } of config.issuers) {
    // For some providers, the issuer is a name, not a URL. Their keys still come over HTTPS.
    const addresses = [...(URL.canParse(issuer) ? [issuer] : []), ...(jwksUri ? [jwksUri] : [])];
    for (const address of addresses)
      if (!isSafeUrl(address, serviceAllow)) problems.push(`AUTH_ISSUERS: ${address} ${UNSAFE_URL}`);
  }
  if (!config.secretKeys) problems.push('SECRET_KEYS: production requires at least one key');
  if (config.egressAllow.privateEntries.length > 0)
    problems.push(
      'EGRESS_ALLOW: must not list loopback or private addresses in production. Use UPSTREAM_ALLOW for upstreams, WEBHOOK_ALLOW for webhooks, and SERVICE_ALLOW for the URLs in the configuration',
    );
  for (const [name, entries] of [
    ['UPSTREAM_ALLOW', upstreamAllow.openings.map(({ entry }) => entry)],
    ['WEBHOOK_ALLOW', webhookAllow.openings.map(({ entry }) => entry)],
    ['SERVICE_ALLOW', serviceAllow.entries],
  ] as const)
    for (const entry of entries.filter(isTooWide)) problems.push(`${name}: ${entry} ${TOO_WIDE}`);
  for (const proxy of config.trustedProxies.filter(trustsTooMany))
    problems.push(`TRUSTED_PROXIES: ${proxy} ${TRUSTS_TOO_MANY}`);
  return problems;
}

function unsafeNetworks({ networks, serviceAllow }: Config, variables: VariableValues): string[] {
  const problems: string[] = [];
  if (networks.length === 0)
    problems.push('NETWORK: required in production for processes with the gateway role, or set NETWORKS');
  const hasFacilitators =
    networks.length > 0 && networks.every(({ network }) => variables.FACILITATOR_URLS?.[network.id]);
  if (variables.FACILITATOR_URL === undefined && !hasFacilitators)
    problems.push('FACILITATOR_URL: required in production for processes with the gateway role');
  for (const { network, facilitatorUrl, rpcUrl } of networks)
    for (const [name, address] of [
      ['FACILITATOR_URL', facilitatorUrl],
      ['RPC_URL', rpcUrl],
    ] as const)
      if (!isSafeUrl(address, serviceAllow)) {
        const variable = variables[`${name}S`]?.[network.id] === undefined ? name : `${name}S`;
        problems.push(`${variable}: ${maskUrl(address)} ${UNSAFE_URL}`);
      }
  return problems;
}
