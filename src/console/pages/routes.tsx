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
  IconRoute,
  IconSend,
  IconSettings,
  IconTimelineEvent,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { lazyPart } from '../parts/lazy-part.ts';

/** A project page. */
export type PageRoute = {
  /** Relative to `/projects/{projectId}`, as a wouter pattern: `/deliveries/:deliveryId?`. */
  path: string;
  /** The text of the page's link, which goes to the path without parameters. */
  label: string;
  icon: Icon;
  group: 'Project' | 'Revenue' | 'Delivery' | 'Developers';
  page: ComponentType;
};

/** Every project page, in navigation order. Each page is loaded when it is first opened. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  {
    path: '',
    label: 'Overview',
    icon: IconLayoutDashboard,
    group: 'Project',
    page: lazyPart(() => import('./overview/overview.tsx'), 'OverviewPage'),
  },
  {
    path: '/deliveries/:deliveryId?',
    label: 'Deliveries',
    icon: IconSend,
    group: 'Delivery',
    page: lazyPart(() => import('./deliveries/deliveries.tsx'), 'DeliveriesPage'),
  },
  {
    path: '/endpoints',
    label: 'Endpoints',
    icon: IconRoute,
    group: 'Project',
    page: lazyPart(() => import('./endpoints/endpoints.tsx'), 'EndpointsPage'),
  },
  {
    path: '/notices',
    label: 'Notices',
    icon: IconBell,
    group: 'Project',
    page: lazyPart(() => import('./notices/notices.tsx'), 'NoticesPage'),
  },
  {
    path: '/settings',
    label: 'Settings',
    icon: IconSettings,
    group: 'Project',
    page: lazyPart(() => import('./settings/settings.tsx'), 'SettingsPage'),
  },
  {
    path: '/payments/:paymentId?',
    label: 'Payments',
    icon: IconReceipt,
    group: 'Revenue',
    page: lazyPart(() => import('./payments/payments.tsx'), 'PaymentsPage'),
  },
  {
    path: '/customers',
    label: 'Customers',
    icon: IconUsers,
    group: 'Revenue',
    page: lazyPart(() => import('./customers/customers.tsx'), 'CustomersPage'),
  },
  {
    path: '/webhooks',
    label: 'Webhooks',
    icon: IconWebhook,
    group: 'Delivery',
    page: lazyPart(() => import('./webhooks/webhooks.tsx'), 'WebhooksPage'),
  },
  {
    path: '/connectors',
    label: 'Connectors',
    icon: IconPlugConnected,
    group: 'Delivery',
    page: lazyPart(() => import('./connectors/connectors.tsx'), 'ConnectorsPage'),
  },
  {
    path: '/events/:eventId?',
    label: 'Events',
    icon: IconTimelineEvent,
    group: 'Delivery',
    page: lazyPart(() => import('./events/events.tsx'), 'EventsPage'),
  },
  {
    path: '/keys',
    label: 'API keys',
    icon: IconKey,
    group: 'Developers',
    page: lazyPart(() => import('./api-keys/api-keys.tsx'), 'ApiKeysPage'),
  },
  {
    path: '/audit-log',
    label: 'Audit log',
    icon: IconHistory,
    group: 'Developers',
    page: lazyPart(() => import('./audit-log/audit-log.tsx'), 'AuditLogPage'),
  },
  {
    path: '/limits',
    label: 'Limits & usage',
    icon: IconGauge,
    group: 'Developers',
    page: lazyPart(() => import('./limits/limits.tsx'), 'LimitsPage'),
  },
  {
    path: '/rest/:operationId?',
    label: 'REST reference',
    icon: IconBook2,
    group: 'Developers',
    page: lazyPart(() => import('./rest/rest.tsx'), 'RestPage'),
  },
  {
    path: '/graphql/:typeName?',
    label: 'GraphQL explorer',
    icon: IconApi,
    group: 'Developers',
    page: lazyPart(() => import('./graphql/graphql.tsx'), 'GraphqlPage'),
  },
];
