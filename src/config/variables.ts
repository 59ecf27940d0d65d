import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { parseAddress } from '../egress/address.ts';
import { findNetwork, NETWORK_IDS } from '../gateway/chain/networks.ts';
import { databaseUrl } from './database-url.ts';
import { urlsByNetwork } from './urls-by-network.ts';

const ROLES = ['api', 'gateway', 'worker'] as const;
export type Role = (typeof ROLES)[number];

const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

/** A comma-separated list. Every item must pass the check. */
const checkedList = (isGood: (item: string) => boolean, form: string) =>
  z
    .string()
    .default('')
    .transform(list)
    .pipe(z.array(z.string().refine(isGood, { error: ({ input }) => `${input} is not ${form}` })));

/** In a content security policy, an asterisk would be a wildcard. */
const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text && !text.includes('*');

/** Whether a text is an address or a CIDR in its usual form. `ipaddr.js` would read 010.0.0.0/8 as 8.0.0.0/8. */
function isProxy(text: string): boolean {
  const address = parseAddress(text.split('/', 1)[0]!);
  // A mapped address is read as IPv4, so the bits of its CIDR would be wrong.
  return ipaddr.isValidCIDR(text)
    ? ipaddr.parseCIDR(text)[0].kind() === address?.kind()
    : parseAddress(text) !== undefined;
}

/** Digits only, because `Number` would parse a blank string as 0. */
const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max, `must be from ${min} to ${max}`));

/** The console, redirects, and links in responses start at the root of a host. */
const isAtRoot = ({ pathname, search, hash, username }: URL) => /^\/*$/.test(pathname) && !search && !hash && !username;
const NOT_AT_ROOT =
  'must not have a path. Serve Tollgate at the root of its own host name, such as https://pay.example.com';

const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

/** The environment variables: how to parse each one, and its description in `docs/configuration.md`. */
export const VARIABLES = {
  NODE_ENV: {
    schema: z.enum(['development', 'production', 'test']).default('development'),
    help: 'In `production`, the process refuses to start with unsafe values: a missing or insecure issuer, no `SECRET_KEYS`, an open `EGRESS_ALLOW`, a very wide `UPSTREAM_ALLOW`, `WEBHOOK_ALLOW`, `SERVICE_ALLOW`, or `TRUSTED_PROXIES`, or no facilitator.',
  },
  PORT: { schema: wholeNumber(0, 65535).default(4000), help: 'TCP port to listen on.' },
  HOST: {
    schema: z.string().optional(),
    help: 'Address to listen on. Default: `127.0.0.1` in development, `0.0.0.0` in production.',
  },
  DATA_DIR: {
    schema: z.string().min(1).default('.data'),
    help: 'Folder for the embedded database and for keys that are generated on first start.',
  },
  DATABASE_URL: {
    schema: databaseUrl,
    help: 'URL of a PostgreSQL database, version 15 or later. If not set, an embedded PostgreSQL server runs in `DATA_DIR`. The only parameters it can have are those for [TLS](deployment.md#managed-postgresql), and `host` for a Unix socket.',
  },
  DATABASE_DIRECT_URL: {
    schema: databaseUrl,
    help: 'URL of the same database without a pooler. If it differs from `DATABASE_URL`, `DATABASE_URL` may point to [PgBouncer in transaction mode](deployment.md#pgbouncer); migrations, `LISTEN`, the queue, and payment steps use this URL. Default: `DATABASE_URL`.',
  },
  DATABASE_POOL_SIZE: {
    schema: wholeNumber(2, 500).default(20),
    help: 'Maximum number of PostgreSQL connections for this process. `LISTEN` uses one more, the `gateway` role uses one more for payments, and the `worker` role uses four more for the queue.',
  },
  ROLES: {
    schema: z
      .string()
      .default(ROLES.join(','))
      .transform(list)
      .pipe(z.array(z.enum(ROLES)).min(1)),
    help: 'Roles for this process: one or more of `api`, `gateway`, and `worker`, separated by commas.',
  },
  PUBLIC_URL: {
    schema: url.refine((text) => !URL.canParse(text) || isAtRoot(new URL(text)), NOT_AT_ROOT).optional(),
    help: 'Public URL of this service, without a path. Used in links, such as those in connector messages, so set it for workers too. Default: the address that the process listens on. In production, and in processes without the `api` role, there is no default, and messages have no links. In production, projects can have custom domains only if this is set: otherwise, a project could take this service’s domain.',
  },
  GATEWAY_DOMAIN: {
    schema: z
      .string()
      .max(200)
      .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/, {
        error: 'must be a domain in lowercase, such as pay.example',
      })
      .optional(),
    help: 'Domain under which [each project gets a default domain](custom-domains.md#the-default-domain), for example, `shop.GATEWAY_DOMAIN`. Set it for all processes. Requires [wildcard DNS and TLS](deployment.md#a-domain-for-each-project), and the domain must not overlap with the host of `PUBLIC_URL`. Not set by default.',
  },
  NOTIFY_FROM: {
    schema: z.string().optional(),
    help: 'Sender of [notice](notices.md) emails, for example, `Tollgate <notices@example.com>`. Set it for all processes, together with `NOTIFY_SMTP_URL` or `NOTIFY_RESEND_API_KEY`. Otherwise, this server sends no email.',
  },
  NOTIFY_SMTP_URL: {
    schema: z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// URL' }).optional(),
    help: 'SMTP server for notice emails, for example, `smtps://user:password@mail.example.com`.',
  },
  NOTIFY_RESEND_API_KEY: {
    schema: z.string().optional(),
    help: 'API key of a [Resend](https://resend.com) account that sends notice emails, instead of an SMTP server.',
  },
  AUTH_ISSUERS: {
    schema: z.string().optional(),
    help: 'JSON list of trusted token issuers; see [authentication](authentication.md). Default in development: the local dev issuer.',
  },
  OPERATORS: {
    schema: z.string().optional(),
    help: 'JSON list of the people who may use the [operator API](operators.md), each with the `iss` and `sub` of their tokens, for example, `[{"issuer": "https://login.example/", "subject": "auth0|1234"}]`. Set it for all processes with the `api` role. Default: nobody.',
  },
  SECRET_KEYS: {
    schema: z.string().optional(),
    help: 'Keys that encrypt stored secrets, newest first, separated by commas. Each is `id:base64`, with 32 random bytes in base64. In development, a key is generated on first start.',
  },
  EGRESS_ALLOW: {
    schema: z.string().optional(),
    help: 'Non-public addresses that the service may call, as `CIDR:port`, separated by commas. Default in development: all ports on `127.0.0.1` and `::1`. If `HOST` or `PUBLIC_URL` isn’t a loopback address, only ports 4010 to 4012 on `127.0.0.1`. Default in production: none.',
  },
  UPSTREAM_ALLOW: {
    schema: z.string().optional(),
    help: 'Private addresses that endpoints can use as [upstreams](deployment.md#sell-an-api-in-your-private-network), as `CIDR:port`, or as `CIDR:port@project+project` to allow them only for some projects. Separate entries with commas. Webhooks and connectors can’t use these addresses. Set it for processes with the `api` or `gateway` role.',
  },
  WEBHOOK_ALLOW: {
    schema: z.string().optional(),
    help: 'Private addresses that [webhooks](deployment.md#send-webhooks-to-your-private-network) and their OAuth token URLs can use, in the same format as `UPSTREAM_ALLOW`. Endpoints and connectors can’t use these addresses. Set it for processes with the `api` or `worker` role.',
  },
  SERVICE_ALLOW: {
    schema: z.string().optional(),
    help: 'Private addresses that you can use in `FACILITATOR_URL`, `RPC_URL`, and `AUTH_ISSUERS`, as `CIDR:port`, separated by commas.',
  },
  EGRESS_PROXY: {
    schema: z.string().optional(),
    help: '[Proxy](deployment.md#use-an-outgoing-proxy) for all outgoing requests except emails and traces, as `http://user:password@host:port`. The user name and password are optional.',
  },
  NETWORK: {
    schema: z
      .string()
      .optional()
      .refine((name) => name === undefined || findNetwork(name) !== undefined, {
        error: `must be one of ${NETWORK_IDS.join(', ')}`,
      }),
    help: 'Blockchain network for payments, for example, `eip155:8453` (Base) or `eip155:84532` (Base Sepolia, the default outside production). Set it for all processes.',
  },
  NETWORKS: {
    schema: checkedList((name) => findNetwork(name) !== undefined, `one of ${NETWORK_IDS.join(', ')}`),
    help: 'All [networks that buyers can pay on](networks.md), preferred first, separated by commas. Set it for all processes, instead of `NETWORK`.',
  },
  FACILITATOR_URL: {
    schema: url.optional(),
    help: 'Base URL of the x402 facilitator that verifies and settles payments. Use a URL that [doesn’t redirect](networks.md#redirects). Default outside production: the sandbox, or `https://www.x402.org/facilitator` if the sandbox is off.',
  },
  FACILITATOR_URLS: {
    schema: urlsByNetwork.optional(),
    help: 'JSON object with the facilitators of individual networks, for example, `{"eip155:137": "https://facilitator.example.com"}`. The other networks use `FACILITATOR_URL`. `FACILITATOR_TOKEN` and `FACILITATOR_KEY_ID` are sent only to the host of `FACILITATOR_URL`, with or without `www.`.',
  },
  FACILITATOR_TOKEN: {
    schema: z.string().optional(),
    help: 'Bearer token for the facilitator.',
  },
  FACILITATOR_KEY_ID: {
    schema: z.string().optional(),
    help: 'ID of a Coinbase Developer Platform key. If set, every request to the facilitator carries a token signed with that key.',
  },
  FACILITATOR_KEY_SECRET: {
    schema: z.string().optional(),
    help: 'Secret for `FACILITATOR_KEY_ID`: an Ed25519 key in base64, or an EC key in PEM.',
  },
  RPC_URL: {
    schema: url.optional(),
    help: 'URL of a JSON-RPC node, if you use only one network. Used to look up settlements with an unclear outcome. Use a URL that [doesn’t redirect](networks.md#redirects). Default: a public node.',
  },
  RPC_URLS: {
    schema: urlsByNetwork.optional(),
    help: 'JSON object with the nodes of individual networks, for example, `{"eip155:8453": "https://node.example.com"}`. Default: `RPC_URL` if there is only one network, and public nodes otherwise.',
  },
  SANDBOX: {
    schema: z.enum(['on', 'off']).optional(),
    help: 'Whether to run a local chain, token, facilitator, demo API, and funded wallet alongside the service. Default: `on` in development, unless `FACILITATOR_URL` is set or a network uses real money.',
  },
  GRAPHQL_EXPLORER: {
    schema: z.enum(['on', 'off']).optional(),
    help: 'Whether to serve GraphiQL, a GraphQL explorer, to browsers that open `/graphql`. The console has its own explorer. Default: `on` in development, `off` in production.',
  },
  CONSOLE_CLIENT_ID: {
    schema: z.string().optional(),
    help: 'The web console’s client ID at the identity provider. If set, people [sign in](console.md#sign-in) there.',
  },
  CONSOLE_ISSUER: {
    schema: url.optional(),
    help: 'Issuer from `AUTH_ISSUERS` that people sign in with. Default: the first one.',
  },
  CONSOLE_SCOPES: {
    schema: z.string().default('openid profile offline_access'),
    help: 'Scopes that the console requests, separated by spaces.',
  },
  CONSOLE_AUDIENCE: {
    schema: z.string().optional(),
    help: 'Audience that the console requests, for providers that require one, such as Auth0.',
  },
  CONSOLE_ISSUER_ORIGINS: {
    schema: checkedList(isOrigin, 'an origin such as https://login.example'),
    help: 'Additional origins that belong to the issuer (for example, for its token endpoint), separated by commas.',
  },
  CONNECT_GOOGLE_CLIENT_ID: {
    schema: z.string().optional(),
    help: 'Client ID of your OAuth app at Google. If set, sellers can [connect Google Sheets and BigQuery](deployment.md#connect-buttons) with a button in the console.',
  },
  CONNECT_GOOGLE_CLIENT_SECRET: {
    schema: z.string().optional(),
    help: 'Client secret for `CONNECT_GOOGLE_CLIENT_ID`.',
  },
  CONNECT_SALESFORCE_CLIENT_ID: {
    schema: z.string().optional(),
    help: 'Client ID of your OAuth app at Salesforce. If set, sellers can [connect Salesforce](deployment.md#connect-buttons) with a button in the console.',
  },
  CONNECT_SALESFORCE_CLIENT_SECRET: {
    schema: z.string().optional(),
    help: 'Client secret for `CONNECT_SALESFORCE_CLIENT_ID`.',
  },
  CONNECT_XERO_CLIENT_ID: {
    schema: z.string().optional(),
    help: 'Client ID of your OAuth app at Xero. If set, sellers can [connect Xero](deployment.md#connect-buttons) with a button in the console.',
  },
  CONNECT_XERO_CLIENT_SECRET: {
    schema: z.string().optional(),
    help: 'Client secret for `CONNECT_XERO_CLIENT_ID`.',
  },
  CONNECT_QUICKBOOKS_CLIENT_ID: {
    schema: z.string().optional(),
    help: 'Client ID of your OAuth app at Intuit. If set, sellers can [connect QuickBooks](deployment.md#connect-buttons) with a button in the console.',
  },
  CONNECT_QUICKBOOKS_CLIENT_SECRET: {
    schema: z.string().optional(),
    help: 'Client secret for `CONNECT_QUICKBOOKS_CLIENT_ID`.',
  },
  RECENT_SIGN_IN_SECONDS: {
    schema: wholeNumber(60, 604_800).optional(),
    help: 'The maximum age of a sign-in, in seconds (60 to 604800), for changing a wallet, the networks, a domain, a project’s owner, or an upstream URL, deleting a project, or giving someone the permission to change these, for example, 900. Set it for all processes with the `api` role. [Your issuer](authentication.md#recent-sign-in) should put `auth_time` in its access tokens. Default: no limit.',
  },
  RETENTION_DAYS: {
    schema: wholeNumber(7, 3650).default(90),
    help: 'How many days to keep events, deliveries, and their attempts (at least 7). They are deleted a week at a time. Payments, customers, and revenue are always kept.',
  },
  CORS_ORIGINS: {
    schema: checkedList((item) => item === '*' || isOrigin(item), 'an origin such as https://console.example'),
    help: 'Origins of web pages that may call the API from a browser, separated by commas. In development, pages from other servers on the same machine may call it, too.',
  },
  TRUSTED_PROXIES: {
    schema: checkedList(isProxy, 'an address or a CIDR'),
    help: 'Addresses or CIDRs of the [proxies and load balancers](deployment.md#behind-a-reverse-proxy) whose `X-Forwarded-For` header is trusted, separated by commas. Entries in the header may have a port. If one isn’t an address, the proxy’s own address is used.',
  },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    help: 'Minimum log level.',
  },
  LOG_FORMAT: {
    schema: z.enum(['json', 'text']).optional(),
    help: 'The log format: `json` (one object per line) or `text` (human-readable). Default: `text` in a terminal in development; otherwise, `json`.',
  },
} as const;

/** The values of all variables, with defaults filled in. */
export type VariableValues = { [K in keyof typeof VARIABLES]: z.output<(typeof VARIABLES)[K]['schema']> };
