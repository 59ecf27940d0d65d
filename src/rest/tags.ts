import type { RestRoute } from './routes/route.ts';

/** Descriptions for the OpenAPI tags. The linter rejects a tag without one. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  projects: 'Top-level containers, each with a wallet that receives payments.',
  endpoints: 'Paid routes: a public path, the API behind it, and a price per request.',
  keys: 'Credentials for programs, each scoped to one project.',
  connectors: 'Third-party services that receive events in their own format.',
  'connector-types': 'Connector types and their config fields.',
  webhooks: 'Your own servers, which receive events as signed requests.',
  deliveries: 'Deliveries of events to webhooks and connectors, with their attempts.',
  replays: 'Jobs that resend all deliveries matching a filter.',
  events: 'Everything that happened in a project.',
  payments: 'Payments that buyers sent with requests, and their outcomes.',
  customers: 'Wallets that have paid a project.',
  revenue: 'Settled payments over time.',
  'delivery-stats': 'Delivery counts and response times over time.',
  notices: 'What the project’s owner should know, such as a destination that stopped.',
  contacts: 'Who gets a project’s notices and its weekly digest.',
  'audit-log': 'Who changed what, and when.',
};

/** A route's tag: the first resource in its path, after the project if there is one. */
export function tagOf({ path }: Pick<RestRoute, 'path'>): string {
  return path.split('/').filter((part) => part && !part.startsWith(':') && part !== 'api')[
    path.includes(':projectId/') ? 1 : 0
  ]!;
}
