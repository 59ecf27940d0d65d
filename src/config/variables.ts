import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { findNetwork, NETWORK_IDS } from '../gateway/chain/networks.ts';

export const ROLES = ['api', 'gateway', 'worker'] as const;
export type Role = (typeof ROLES)[number];

const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

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

export const TEST_NETWORK = 'eip155:84532';

const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

/** Every setting: how it is read, and the line of `docs/configuration.md` that explains it. */
export const VARIABLES = {
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
    help: 'Most connections this process opens to PostgreSQL, besides one for LISTEN and, with the role `worker`, four for the queue.',
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
    help: 'Address under which users reach this service; used in links, such as those in messages of connectors, so set it for workers too. Default: the address it listens on; messages then have no link in production, or from a process without the role `api`. Production needs it before projects may have host names of their own, so that none takes this one.',
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
    help: 'Whether a local chain, a token, a facilitator, a demo API and a funded wallet are run beside the service. Default: `on` in development when no `FACILITATOR_URL` is set, and no `NETWORK` where money is real.',
  },
  CONSOLE_CLIENT_ID: {
    schema: z.string().optional(),
    help: 'Client id of the web console at the identity provider; with it people [sign in](console.md#sign-in) there.',
  },
  CONSOLE_ISSUER: {
    schema: url.optional(),
    help: 'Issuer of `AUTH_ISSUERS` that the console signs in at. Default: the first.',
  },
  CONSOLE_SCOPES: {
    schema: z.string().default('openid profile offline_access'),
    help: 'Scopes the console asks for, separated by blanks.',
  },
  CONSOLE_AUDIENCE: {
    schema: z.string().optional(),
    help: 'Audience the console asks for, for providers that want it named, such as Auth0.',
  },
  CONSOLE_ISSUER_ORIGINS: {
    schema: checkedList(isOrigin, 'an origin such as https://login.example'),
    help: 'Origins other than the issuer’s own that its token endpoint is on, separated by commas.',
  },
  RETENTION_DAYS: {
    schema: wholeNumber(7, 3650).default(90),
    help: 'How long events, deliveries and their attempts are kept, from 7; they go a week at a time. Payments, customers and revenue are always kept.',
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

/** The settings as they are read, each with its default. */
export type Environment = { [K in keyof typeof VARIABLES]: z.output<(typeof VARIABLES)[K]['schema']> };
