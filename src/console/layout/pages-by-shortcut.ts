import type { ShortcutName } from '../parts/shortcuts.ts';

/** The page that each shortcut goes to, relative to the project. */
export const PAGES_BY_SHORTCUT = {
  goToOverview: '',
  goToEndpoints: '/endpoints',
  goToNotices: '/notices',
  goToMembers: '/members',
  goToSettings: '/settings',
  goToPayments: '/payments',
  goToCustomers: '/customers',
  goToDeliveries: '/deliveries',
  goToWebhooks: '/webhooks',
  goToConnectors: '/connectors',
  goToEvents: '/events',
  goToReplays: '/replays',
  goToKeys: '/keys',
  goToAuditLog: '/audit-log',
  goToLimits: '/limits',
  goToRest: '/rest',
  goToGraphql: '/graphql',
} as const satisfies Partial<Record<ShortcutName, string>>;
