import type { HelpTopic } from '../parts/help-topic.ts';

/** The documentation that the “?” next to each page's title opens. */
export const HELP_TOPICS = {
  overview: { page: 'payments', section: 'revenue' },
  deliveries: { page: 'webhooks', section: 'history' },
  endpoints: { page: 'gateway', section: 'sell-an-api' },
  notices: { page: 'notices' },
  members: { page: 'members' },
  settings: { page: 'concepts' },
  payments: { page: 'payments' },
  customers: { page: 'payments', section: 'customers' },
  webhooks: { page: 'webhooks' },
  connectors: { page: 'connectors/' },
  events: { page: 'events' },
  replays: { page: 'webhooks', section: 'replay' },
  keys: { page: 'authentication', section: 'api-keys' },
  auditLog: { page: 'audit-log' },
  limits: { page: 'limits' },
  rest: { page: 'rest' },
  graphql: { page: 'graphql' },
  // These pages don't belong to a project.
  projects: { page: 'concepts' },
  connect: { page: 'connectors/' },
  invitations: { page: 'members' },
  notFound: { page: 'console' },
  projectNotFound: { page: 'members' },
} as const satisfies Readonly<Record<string, HelpTopic>>;
