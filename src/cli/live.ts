import type { Delivery, Event, FollowOptions, ListDeliveriesQuery } from '../../packages/sdk/src/index.ts';
import type { EventType } from '../events/types.ts';
import { Failure } from './failure.ts';
import { note } from './output.ts';
import { failureOf } from './sdk-failure.ts';
import type { Session } from './session.ts';

type DeliveryFilter = Pick<ListDeliveriesQuery, 'status' | 'eventType' | 'from'>;

/** A project's events, starting now. @throws Failure for a problem that persists. */
export function followEvents(
  session: Session,
  projectId: string,
  types: EventType[] | undefined,
  onReady: () => void,
): AsyncGenerator<Event> {
  const query = types ? { eventType: types } : {};
  return live(projectId, session.tollgate.events.follow(query, optionsOf(session, projectId, onReady)));
}

/**
 * A project's deliveries as they change. With `filter.from`, the deliveries created since then come first.
 *
 * @throws Failure for a problem that persists, such as a revoked credential.
 */
export function followDeliveries(
  session: Session,
  projectId: string,
  filter: DeliveryFilter,
  onReady: () => void,
): AsyncGenerator<Delivery> {
  const options = { ...optionsOf(session, projectId, onReady), includeExisting: filter.from !== undefined };
  return live(projectId, session.tollgate.deliveries.follow(filter, options));
}

function optionsOf({ signal }: Session, projectId: string, onReady: () => void): FollowOptions {
  return {
    projectId,
    signal,
    onReady,
    onReconnect(error) {
      const { message } = failureOf(error) as Error;
      note(`Connection lost: ${message.replace(/\.$/, '')}. Reconnecting; no updates will be lost.`);
    },
  };
}

async function* live<Item>(projectId: string, feed: AsyncIterable<Item>): AsyncGenerator<Item> {
  try {
    yield* feed;
  } catch (error) {
    const failure = failureOf(error);
    // The error names the feed's path, not a path that the user entered.
    if (failure instanceof Failure && failure.exitReason === 'notFound') {
      throw new Failure('notFound', `Project ${projectId} not found.`, { code: 'NOT_FOUND' });
    }
    throw failure;
  }
}
