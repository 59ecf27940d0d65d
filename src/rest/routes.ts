import { apiKeyRoutes } from './routes/api-keys.ts';
import { auditRoutes } from './routes/audit.ts';
import { connectorRoutes } from './routes/connectors.ts';
import { customerRoutes } from './routes/customers.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { endpointRoutes } from './routes/endpoints.ts';
import { eventRoutes } from './routes/events.ts';
import { noticeRoutes } from './routes/notices.ts';
import { paymentRoutes } from './routes/payments.ts';
import { projectRoutes } from './routes/projects.ts';
import { replayRoutes } from './routes/replays.ts';
import { revenueRoutes } from './routes/revenue.ts';
import type { RestRoute } from './routes/route.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** Every route. The REST API is this table and nothing more. */
export const ROUTES: readonly RestRoute[] = [
  ...projectRoutes,
  ...endpointRoutes,
  ...apiKeyRoutes,
  ...connectorRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...replayRoutes,
  ...eventRoutes,
  ...paymentRoutes,
  ...customerRoutes,
  ...revenueRoutes,
  ...noticeRoutes,
  ...auditRoutes,
];
