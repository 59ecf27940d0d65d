import type { RestRoute } from './routes/route.ts';

/** Descriptions for the OpenAPI tags. The linter rejects a tag without one. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  me: 'The caller: a user or an API key.',
  projects: 'Top-level containers, each with a wallet that receives payments.',
  'upstream-secret': 'The secret that your API uses to recognize the gateway’s requests.',
  'gateway-host': 'The project’s custom domain and its verification.',
  'buyer-rules': 'Which wallets may pay a project, and how much each of them may buy.',
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
  members: 'The people who have access to a project, besides its owner.',
  invitations: 'Invitations to share a project, by email address.',
  transfers: 'Offers to become the owner of a project.',
  notices: 'Problems that the project’s owner should know about, such as a destination that stopped working.',
  contacts: 'Who gets a project’s notices and its weekly digest.',
  search: 'Search for items by ID, hash, wallet, or part of a name.',
  'audit-log': 'Who changed what, and when.',
  operator: 'Users’ accounts, for the people who run the server. Everyone else gets a 404.',
};

/** The path segments that are actions on the project itself. */
const PROJECT_ACTIONS: ReadonlySet<string> = new Set(['copy', 'transfer']);

/** A route's tag: the first resource in its path, after the project if there is one. */
export function tagOf({ path }: Pick<RestRoute, 'path'>): string {
  const names = path.split('/').filter((part) => part && !part.startsWith(':') && part !== 'api');
  return names[path.includes(':projectId/') && !PROJECT_ACTIONS.has(names[1]!) ? 1 : 0]!;
}
