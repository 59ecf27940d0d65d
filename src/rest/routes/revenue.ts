import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

const PERIOD: RestRoute['query'] = {
  from: {
    to: ['from'],
    description: 'Start of the range (inclusive). Default: 24 hours, 30 days, or 12 months before `to`.',
  },
  to: {
    to: ['to'],
    description:
      'End of the range (exclusive). Default: now. The start and the end are rounded outward to whole intervals.',
  },
  interval: { to: ['interval'], description: 'Interval, in UTC. Default: DAY.' },
};

/** Revenue and delivery statistics by interval. */
export const revenueRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/revenue`,
    operationId: 'getRevenue',
    summary: 'Get revenue by hour, day, or month, with the top endpoints and customers',
    document: documents.GetRevenueDocument,
    kind: 'one',
    at: ['project', 'revenue'],
    query: {
      ...PERIOD,
      interval: {
        to: ['interval'],
        description: 'Interval. Days and months are in the project’s time zone. Default: DAY.',
      },
    },
  },
  {
    method: 'GET',
    path: `${PROJECT}/delivery-stats`,
    operationId: 'getDeliveryStats',
    summary: 'Get delivery statistics by hour, day, or month: successes, failures, retries, and response times',
    document: documents.GetDeliveryStatsDocument,
    kind: 'one',
    at: ['project', 'deliveryStats'],
    query: PERIOD,
  },
];
