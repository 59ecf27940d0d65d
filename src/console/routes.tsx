import { type Icon, IconApi, IconLayoutDashboard } from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { lazyPart } from './parts/lazy-part.ts';

/** A page of a project. */
export type Route = {
  /** Behind `/projects/{projectId}`; wouter's patterns: `/deliveries/:deliveryId?`. */
  path: string;
  /** Its line in the navigation; it leads to the path without parameters. */
  label: string;
  icon: Icon;
  group: 'Project' | 'Money' | 'Delivery' | 'Developers';
  page: ComponentType;
};

/** Every page of a project in the order of the navigation. A page is loaded when it is first opened. */
export const ROUTES: readonly Route[] = [
  {
    path: '',
    label: 'Overview',
    icon: IconLayoutDashboard,
    group: 'Project',
    page: lazyPart(() => import('./pages/overview.tsx'), 'OverviewPage'),
  },
];

/** What the navigation leads to besides. These are pages of the server, not of the console. */
export const LINKS = [{ href: '/graphql', label: 'GraphQL explorer', icon: IconApi, group: 'Developers' }] as const;
