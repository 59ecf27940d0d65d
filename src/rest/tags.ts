import type { RestRoute } from './routes/route.ts';

/** What the groups of the OpenAPI document are about. The linter refuses a group without a line here. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  projects: 'The top-level container, with the wallet that is paid.',
  endpoints: 'Paid routes: a public path, the URL behind it, and a price for each request.',
  keys: 'API keys: credentials of programs, scoped to one project.',
  connectors: 'Third-party services that are told of events in their own form.',
  'connector-types': 'The types of connectors, and the config that each of them takes.',
  webhooks: 'Receivers of your own that are told of events by signed requests.',
  deliveries: 'One event on its way to one webhook or connector, with its history.',
  replays: 'Many deliveries sent again by a filter.',
  events: 'What has happened in a project.',
  payments: 'What buyers presented for requests, and what became of it.',
  customers: 'Wallets that have paid a project.',
  revenue: 'Sums of settled payments over time.',
  'delivery-stats': 'Counts and response times of deliveries over time.',
  'audit-log': 'Who changed what.',
};

/** The group of a route: the resource behind the project in its path. */
export function tagOf({ path }: Pick<RestRoute, 'path'>): string {
  return path.split('/').filter((part) => part && !part.startsWith(':') && part !== 'api')[
    path.includes(':projectId/') ? 1 : 0
  ]!;
}
