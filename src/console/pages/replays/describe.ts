import type { ReplayRowFragment } from '../../../generated/console/replays.ts';
import type { Destination } from '../../parts/destinations.ts';
import { formatCount, formatEnum, formatEventType } from '../../parts/format.ts';

export const REPLAY_STATUS_COLORS: Readonly<Record<ReplayRowFragment['status'], string>> = {
  RUNNING: 'blue',
  COMPLETED: 'teal',
  CANCELED: 'gray',
};

/** A replay's progress, in percent. */
export function shareDone({ done, skipped, total }: ReplayRowFragment): number {
  return total === 0 ? 100 : Math.min(100, (100 * (done + skipped)) / total);
}

export function describeProgress({ done, skipped, total }: ReplayRowFragment): string {
  const rest = skipped > 0 ? `, ${formatCount(skipped)} skipped` : '';
  return `${formatCount(done)} of ${formatCount(total)}${rest}`;
}

/** The filter as the service returns it, without empty fields. */
type StoredFilter = {
  status?: string[];
  eventTypes?: string[];
  webhookId?: string;
  connectorId?: string;
  deliveryIds?: string[];
};

/** Describes which deliveries a replay sends again. */
export function describeFilter(replay: ReplayRowFragment, destinations: ReadonlyMap<string, Destination>): string {
  const { status, eventTypes, webhookId, connectorId, deliveryIds } = replay.filter as StoredFilter;
  const to = webhookId ?? connectorId;
  const parts = [
    deliveryIds && `${formatCount(deliveryIds.length)} selected`,
    status?.map(formatEnum).join(', '),
    eventTypes?.map(formatEventType).join(', '),
    to && `to ${destinations.get(to)?.name ?? to}`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(' · ') : 'All deliveries';
}
