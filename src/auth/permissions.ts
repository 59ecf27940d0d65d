/** The permissions that an API key can have. */
export const SCOPES = ['READ', 'PAYMENTS', 'DELIVERIES', 'WRITE', 'CREDENTIALS'] as const;

/** The permissions that only people can have, because a leaked key with one of them could do too much damage. */
const PEOPLE_ONLY = [
  'MANAGE_HEADERS',
  'MANAGE_HOSTS',
  'MANAGE_KEYS',
  'MANAGE_MEMBERS',
  'MANAGE_WALLET',
  'DELETE_PROJECT',
  'TRANSFER_PROJECT',
] as const;

export type Scope = (typeof SCOPES)[number];
export type Permission = Scope | (typeof PEOPLE_ONLY)[number];

/** What each scope allows, in one sentence. */
export const SCOPE_DESCRIPTIONS: Readonly<Record<Scope, string>> = {
  READ: 'Read everything in the project.',
  PAYMENTS: 'Read payments, customers, and revenue, and export them.',
  DELIVERIES:
    'Read events, deliveries, webhooks, connectors, and replays. Resend and replay deliveries, and send test events.',
  WRITE: 'Create, change, and delete endpoints, webhooks, and connectors. Change the project’s name and description.',
  CREDENTIALS:
    'Rotate webhook secrets. With `WRITE`, also change the upstream URLs and headers of existing endpoints, and the URLs and credentials of existing webhooks and connectors.',
};

/** The default scopes of a new key. */
export const DEFAULT_SCOPES: readonly Scope[] = ['READ', 'DELIVERIES', 'WRITE'];

/** A person's role in a project, and what it allows. The project's own account always has the role `OWNER`. */
export const ROLE_PERMISSIONS = {
  OWNER: [...SCOPES, ...PEOPLE_ONLY],
  ADMIN: [...SCOPES, 'MANAGE_HEADERS', 'MANAGE_HOSTS', 'MANAGE_KEYS', 'MANAGE_MEMBERS'],
  DEVELOPER: [...SCOPES, 'MANAGE_HEADERS'],
  VIEWER: ['READ'],
} as const satisfies Record<string, readonly Permission[]>;

export type Role = keyof typeof ROLE_PERMISSIONS;

/**
 * Values that require a further permission: mutation → field of its input. An unchanged URL or `config` requires nothing,
 * so a client can send back what it read.
 */
export const VALUE_PERMISSIONS = {
  updateProject: {
    walletAddress: 'MANAGE_WALLET',
    networks: 'MANAGE_WALLET',
    gatewayHost: 'MANAGE_HOSTS',
    slug: 'MANAGE_HOSTS',
    upstreamHeaders: 'MANAGE_HEADERS',
  },
  updateEndpoint: { upstreamUrl: 'CREDENTIALS', upstreamHeaders: 'CREDENTIALS' },
  updateWebhook: {
    url: 'CREDENTIALS',
    headers: 'CREDENTIALS',
    authentication: 'CREDENTIALS',
    clientCertificate: 'CREDENTIALS',
    certificateAuthority: 'CREDENTIALS',
  },
  updateConnector: { config: 'CREDENTIALS' },
} as const satisfies Record<string, Record<string, Permission>>;

/** A field's requirements for the caller. */
export type Requirement = {
  /** Any of these is enough. If the list is empty, any valid credential is enough. */
  anyOf: readonly Permission[];
  /** Whether API keys are excluded, regardless of their scopes. */
  isForPeople: boolean;
  /** Whether this exists only for operators. Services check this, because it must look as if nothing were there. */
  isForOperators?: true;
};
