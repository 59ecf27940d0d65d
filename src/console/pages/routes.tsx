import {
  type Icon,
  IconApi,
  IconBell,
  IconBook2,
  IconGauge,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconPlugConnected,
  IconReceipt,
  IconRepeat,
  IconRoute,
  IconSend,
  IconSettings,
  IconTimelineEvent,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import type { HelpTopic } from '../parts/help-topic.ts';
import { lazyPart } from '../parts/lazy-part.ts';
import { HELP_TOPICS } from './help-topics.ts';

/** A project page. */
export type PageRoute = {
  /** Relative to `/projects/{projectId}`, as a wouter pattern: `/deliveries/:deliveryId?`. */
  path: string;
  /** The text of the page's link, which goes to the path without parameters. */
  label: string;
  icon: Icon;
  group: 'Project' | 'Revenue' | 'Delivery' | 'Developers';
  /** The documentation that the “?” next to the page's title opens. */
  help: HelpTopic;
  page: ComponentType;
};

/** Every project page, in navigation order. Each page is loaded when it is first opened. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  {
    path: '',
    label: 'Overview',
    icon: IconLayoutDashboard,
    group: 'Project',
    help: HELP_TOPICS.overview,
    page: lazyPart(() => import('./overview/overview.tsx'), 'OverviewPage'),
  },
  {
    path: '/deliveries/:deliveryId?',
    label: 'Deliveries',
    icon: IconSend,
    group: 'Delivery',
    help: HELP_TOPICS.deliveries,
    page: lazyPart(() => import('./deliveries/deliveries.tsx'), 'DeliveriesPage'),
  },
  {
    path: '/endpoints/:endpointId?',
    label: 'Endpoints',
    icon: IconRoute,
    group: 'Project',
    help: HELP_TOPICS.endpoints,
    page: lazyPart(() => import('./endpoints/endpoints.tsx'), 'EndpointsPage'),
  },
  {
    path: '/notices',
    label: 'Notices',
    icon: IconBell,
    group: 'Project',
    help: HELP_TOPICS.notices,
    page: lazyPart(() => import('./notices/notices.tsx'), 'NoticesPage'),
  },
  {
    path: '/members',
    label: 'Members',
    icon: IconUsersGroup,
    group: 'Project',
    help: HELP_TOPICS.members,
    page: lazyPart(() => import('./members/members.tsx'), 'MembersPage'),
  },
  {
    path: '/settings',
    label: 'Settings',
    icon: IconSettings,
    group: 'Project',
    help: HELP_TOPICS.settings,
    page: lazyPart(() => import('./settings/settings.tsx'), 'SettingsPage'),
  },
  {
    path: '/payments/:paymentId?',
    label: 'Payments',
    icon: IconReceipt,
    group: 'Revenue',
    help: HELP_TOPICS.payments,
    page: lazyPart(() => import('./payments/payments.tsx'), 'PaymentsPage'),
  },
  {
    path: '/customers',
    label: 'Customers',
    icon: IconUsers,
    group: 'Revenue',
    help: HELP_TOPICS.customers,
    page: lazyPart(() => import('./customers/customers.tsx'), 'CustomersPage'),
  },
  {
    path: '/webhooks/:webhookId?',
    label: 'Webhooks',
    icon: IconWebhook,
    group: 'Delivery',
    help: HELP_TOPICS.webhooks,
    page: lazyPart(() => import('./webhooks/webhooks.tsx'), 'WebhooksPage'),
  },
  {
    path: '/connectors/:connectorId?',
    label: 'Connectors',
    icon: IconPlugConnected,
    group: 'Delivery',
    help: HELP_TOPICS.connectors,
    page: lazyPart(() => import('./connectors/connectors.tsx'), 'ConnectorsPage'),
  },
  {
    path: '/events/:eventId?',
    label: 'Events',
    icon: IconTimelineEvent,
    group: 'Delivery',
    help: HELP_TOPICS.events,
    page: lazyPart(() => import('./events/events.tsx'), 'EventsPage'),
  },
  {
    path: '/replays',
    label: 'Replays',
    icon: IconRepeat,
    group: 'Delivery',
    help: HELP_TOPICS.replays,
    page: lazyPart(() => import('./replays/replays.tsx'), 'ReplaysPage'),
  },
  {
    path: '/keys',
    label: 'API keys',
    icon: IconKey,
    group: 'Developers',
    help: HELP_TOPICS.keys,
    page: lazyPart(() => import('./api-keys/api-keys.tsx'), 'ApiKeysPage'),
  },
  {
    path: '/audit-log',
    label: 'Audit log',
    icon: IconHistory,
    group: 'Developers',
    help: HELP_TOPICS.auditLog,
    page: lazyPart(() => import('./audit-log/audit-log.tsx'), 'AuditLogPage'),
  },
  {
    path: '/limits',
    label: 'Limits & usage',
    icon: IconGauge,
    group: 'Developers',
    help: HELP_TOPICS.limits,
    page: lazyPart(() => import('./limits/limits.tsx'), 'LimitsPage'),
  },
  {
    path: '/rest/:operationId?',
    label: 'REST reference',
    icon: IconBook2,
    group: 'Developers',
    help: HELP_TOPICS.rest,
    page: lazyPart(() => import('./rest/rest.tsx'), 'RestPage'),
  },
  {
    path: '/graphql/:typeName?',
    label: 'GraphQL explorer',
    icon: IconApi,
    group: 'Developers',
    help: HELP_TOPICS.graphql,
    page: lazyPart(() => import('./graphql/graphql.tsx'), 'GraphqlPage'),
  },
];
