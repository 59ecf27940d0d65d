import type { EndpointsQuery } from '../../../generated/console/endpoints.ts';
import { formatUsd } from '../../parts/format.ts';

export type EndpointRow = NonNullable<EndpointsQuery['project']>['endpoints']['nodes'][number];

export const isFree = ({ priceUsd }: Pick<EndpointRow, 'priceUsd'>) => priceUsd === '0';

export function priceText(endpoint: Pick<EndpointRow, 'priceUsd'>): string {
  return isFree(endpoint) ? 'Free' : formatUsd(endpoint.priceUsd);
}
