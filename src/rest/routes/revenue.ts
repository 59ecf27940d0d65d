import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

const PERIOD: RestRoute['query'] = {
  from: {
    to: ['from'],
    list: false,
    description: 'Beginning. Default 24 hours, 30 days or 12 months before `to`.',
  },
  to: { to: ['to'], list: false, description: 'End, excluded. Default now. Both are widened to whole intervals.' },
  interval: { to: ['interval'], list: false, description: 'Length of the intervals, of UTC. Default DAY.' },
};

/** What a project has earned, and how its deliveries went: figures by interval. */
export const revenueRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/revenue`,
    operationId: 'getRevenue',
    summary: 'Revenue by hour, day or month, with the endpoints and customers that brought most',
    document: documents.GetRevenueDocument,
    kind: 'one',
    at: ['project', 'revenue'],
    query: PERIOD,
  },
  {
    method: 'GET',
    path: `${PROJECT}/delivery-stats`,
    operationId: 'getDeliveryStats',
    summary: 'How deliveries went by hour, day or month: successes, failures, retries and response times',
    document: documents.GetDeliveryStatsDocument,
    kind: 'one',
    at: ['project', 'deliveryStats'],
    query: PERIOD,
  },
];
