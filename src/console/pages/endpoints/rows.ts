import type { EndpointsQuery } from '../../../generated/console/endpoints.ts';

export type EndpointRow = NonNullable<EndpointsQuery['project']>['endpoints']['nodes'][number];
