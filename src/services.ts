import type { ApiKeyService } from './features/api-keys/service.ts';
import type { AuditService } from './features/audit/service.ts';
import type { ConnectorService } from './features/connectors/service.ts';
import type { CustomerService } from './features/customers/service.ts';
import type { DeliveryService } from './features/deliveries/service.ts';
import type { DeliveryStatsService } from './features/delivery-stats/service.ts';
import type { EndpointService } from './features/endpoints/service.ts';
import type { EventService } from './features/events/service.ts';
import type { PaymentService } from './features/payments/service.ts';
import type { ProjectService } from './features/projects/service.ts';
import type { ReplayService } from './features/replays/service.ts';
import type { RevenueService } from './features/revenue/service.ts';
import type { UserService } from './features/users/service.ts';
import type { WebhookService } from './features/webhooks/service.ts';
import type { LiveFeed } from './live/feed.ts';

/** The features as the transports see them. */
export type Services = {
  users: UserService;
  projects: ProjectService;
  endpoints: EndpointService;
  apiKeys: ApiKeyService;
  webhooks: WebhookService;
  connectors: ConnectorService;
  events: EventService;
  deliveries: DeliveryService;
  deliveryStats: DeliveryStatsService;
  replays: ReplayService;
  payments: PaymentService;
  customers: CustomerService;
  revenue: RevenueService;
  audit: AuditService;
  feed: LiveFeed;
};
