import { createFeed, type Feed, type FollowOptions } from './feed.ts';
import { LIVE_FIELDS } from './generated.ts';
import type { Listing } from './listing.ts';
import { type Subscription, subscribe } from './subscribe.ts';
import type { Query, Transport } from './transport.ts';

/** The resources that can be followed. */
export type LiveResource = keyof typeof LIVE_FIELDS;
type Item = { id: string; updatedAt?: string } & Record<string, unknown>;
type Enums = Readonly<Record<string, readonly string[]>>;

/** A subscription's field, the field that contains the resource in each item, and the variable for its filter. */
type LiveType = { field: string; item: string; filter?: { name: string; type: string; from(query: Query): unknown } };

const LIVE: Readonly<Record<LiveResource, LiveType>> = {
  events: {
    field: 'eventRecorded',
    item: 'event',
    filter: { name: 'types', type: '[EventType!]', from: ({ eventType }) => eventTypesOf(eventType) },
  },
  deliveries: {
    field: 'deliveryUpdated',
    item: 'delivery',
    filter: {
      name: 'filter',
      type: 'DeliveryFilter',
      from: ({ eventType, ...filter }) => ({ ...filter, eventTypes: eventTypesOf(eventType) }),
    },
  },
  payments: {
    field: 'paymentUpdated',
    item: 'payment',
    filter: { name: 'filter', type: 'PaymentFilter', from: (query) => query },
  },
  replays: { field: 'replayUpdated', item: 'replay' },
  notices: { field: 'noticeUpdated', item: 'notice' },
};

/** Whether `follow` takes a query. */
export const isFiltered = (resource: LiveResource) => LIVE[resource].filter !== undefined;

/** The GraphQL subscription for a resource. Its items have the fields of the REST resource. */
export function subscriptionOf(resource: LiveResource, query: Query, projectId: string, after?: string): Subscription {
  const { field, item, filter } = LIVE[resource];
  const [variable, argument] = filter
    ? [`, $${filter.name}: ${filter.type}`, `, ${filter.name}: $${filter.name}`]
    : ['', ''];
  return {
    query: `subscription ($projectId: ID!, $after: String${variable}) {
  ${field}(projectId: $projectId, after: $after${argument}) { cursor ${item} { ${LIVE_FIELDS[resource].selection} } }
}`,
    variables: { projectId, after, ...(filter && { [filter.name]: filter.from(query) }) },
    field,
    item,
  };
}

/** Follows a resource. `list` reads existing items through REST until there is a cursor. */
export function followResource(
  transport: Transport,
  resource: LiveResource,
  list: (after: string | undefined) => Listing<{ data: Item[]; nextCursor: string | null }>,
  query: Query,
  options: FollowOptions & { projectId: string },
): Feed<Item> {
  return createFeed<Item>({
    ...options,
    async subscribe(after, signal) {
      const subscription = subscriptionOf(resource, query, options.projectId, after);
      return inRestSpelling(await subscribe<Item>(transport, subscription, signal), LIVE_FIELDS[resource].enums);
    },
    async *history() {
      let after: string | undefined;
      do {
        const { data, nextCursor } = await list(after).page();
        yield data;
        after = nextCursor ?? undefined;
      } while (after !== undefined);
    },
    keyOf: ({ id, updatedAt }) => (updatedAt === undefined ? id : `${id} ${updatedAt}`),
  });
}

async function* inRestSpelling<Change extends { item: Item }>(changes: AsyncIterable<Change>, enums: Enums) {
  for await (const change of changes) {
    for (const [field, values] of Object.entries(enums)) {
      change.item[field] = values.find((value) => graphqlName(value) === change.item[field]) ?? change.item[field];
    }
    yield change;
  }
}

/** GraphQL's name for an enum value: `PAYMENT_SETTLED` for `payment.settled`. */
export const graphqlName = (value: string) => value.toUpperCase().replaceAll('.', '_');

const eventTypesOf = (types: unknown) => (types as string[] | undefined)?.map(graphqlName);
