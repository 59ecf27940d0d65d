import {
  CliDeliveriesDocument,
  type CliDeliveryFragment,
  CliDeliveryUpdatedDocument,
  type CliEventFragment,
  CliEventRecordedDocument,
  CliEventsDocument,
  type DeliveryFilter,
  type EventType,
} from '../generated/cli-documents.ts';
import { follow, type LiveItem } from './follow.ts';
import { note } from './output.ts';
import { foundProject, type Session } from './session.ts';

type Page<Item> = { nodes: Item[]; pageInfo: { endCursor: string | null; hasNextPage: boolean } };

/** A project's events, starting now. */
export function followEvents(
  { client, signal }: Session,
  projectId: string,
  types: EventType[] | undefined,
  onReady: () => void,
): AsyncGenerator<CliEventFragment> {
  const variables = { projectId, types: types ?? null };
  return follow({
    async open(after) {
      const results = await client.subscribe(CliEventRecordedDocument, { ...variables, after: after ?? null }, signal);
      return itemsOf(results, ({ eventRecorded }) => eventRecorded && [eventRecorded.cursor, eventRecorded.event]);
    },
    history: () =>
      pages(async (after) => {
        const { project } = await client.run(CliEventsDocument, { ...variables, after }, signal);
        return foundProject(project, projectId).events;
      }),
    keyOf: ({ id }) => id,
    fromHistory: false,
    onReady,
    onLost,
    signal,
  });
}

/** A project's deliveries as they change. With `filter.since`, the deliveries created since then come first. */
export function followDeliveries(
  { client, signal }: Session,
  projectId: string,
  filter: DeliveryFilter,
  onReady: () => void,
): AsyncGenerator<CliDeliveryFragment> {
  const variables = { projectId, filter };
  return follow({
    async open(after) {
      const results = await client.subscribe(
        CliDeliveryUpdatedDocument,
        { ...variables, after: after ?? null },
        signal,
      );
      return itemsOf(results, ({ deliveryUpdated: update }) => update && [update.cursor, update.delivery]);
    },
    history: () =>
      pages(async (after) => {
        const { project } = await client.run(CliDeliveriesDocument, { ...variables, after }, signal);
        return foundProject(project, projectId).deliveries;
      }),
    keyOf: ({ id, updatedAt }) => `${id} ${updatedAt}`,
    fromHistory: filter.since != null,
    onReady,
    onLost,
    signal,
  });
}

async function* pages<Item>(read: (after: string | null) => Promise<Page<Item>>): AsyncGenerator<Item[]> {
  let after: string | null = null;
  do {
    const { nodes, pageInfo }: Page<Item> = await read(after);
    yield nodes;
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after !== null);
}

async function* itemsOf<Result, Item>(
  results: AsyncIterable<Result>,
  read: (result: Result) => [cursor: string, item: Item] | null,
): AsyncGenerator<LiveItem<Item>> {
  for await (const result of results) {
    const found = read(result);
    if (found) yield { cursor: found[0], item: found[1] };
  }
}

function onLost(reason: string): void {
  note(`Connection lost: ${reason.replace(/\.$/, '')}. Reconnecting; no updates will be lost.`);
}
