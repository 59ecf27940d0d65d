import { apiKeyRoutes } from './routes/api-keys.ts';
import { auditRoutes } from './routes/audit.ts';
import { connectorRoutes } from './routes/connectors.ts';
import { customerRoutes } from './routes/customers.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { endpointRoutes } from './routes/endpoints.ts';
import { eventRoutes } from './routes/events.ts';
import { exportRoutes } from './routes/exports.ts';
import { importRoutes } from './routes/imports.ts';
import { memberRoutes } from './routes/members.ts';
import { noticeRoutes } from './routes/notices.ts';
import { operatorRoutes } from './routes/operator.ts';
import { paymentRoutes } from './routes/payments.ts';
import { projectRoutes } from './routes/projects.ts';
import { replayRoutes } from './routes/replays.ts';
import { revenueRoutes } from './routes/revenue.ts';
import type { RestRoute } from './routes/route.ts';
import { searchRoutes } from './routes/search.ts';
import { viewerRoutes } from './routes/viewer.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** Every route of the REST API. */
export const ROUTES: readonly RestRoute[] = [
  ...viewerRoutes,
  ...projectRoutes,
  ...endpointRoutes,
  ...importRoutes,
  ...apiKeyRoutes,
  ...connectorRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...replayRoutes,
  ...eventRoutes,
  ...paymentRoutes,
  ...customerRoutes,
  ...revenueRoutes,
  ...memberRoutes,
  ...noticeRoutes,
  ...auditRoutes,
  ...searchRoutes,
  ...exportRoutes,
  ...operatorRoutes,
];
