import { actionText } from './audit-entry.ts';
import { formatAuditAction, formatEnum, formatEventType } from './format.ts';

/** A list filter, and how its value is entered. */
export type FilterField = {
  label: string;
  /** Hidden until the user asks for more filters, or until it is set. */
  isRare?: boolean;
} & (
  | { kind: 'text' | 'amount'; example?: string }
  | { kind: 'time' }
  | { kind: 'yesOrNo'; yes: string; no: string }
  /** Any of several values of an enum. `graphql` is the filter's name in GraphQL, if it differs. */
  | { kind: 'many'; enum: string; graphql?: string }
  /** The sort order. It doesn't hide anything, so it isn't cleared with the filters. */
  | { kind: 'order'; enum: string; byDefault: string }
  /** A webhook or a connector. In the API, these are two filters. */
  | { kind: 'destination'; standsFor: readonly string[] }
);

export type FilterFields = Readonly<Record<string, FilterField>>;

/** The selected values, by filter name. Filters that aren't set are left out. */
export type FilterValues = Readonly<Record<string, readonly string[]>>;

const text = (label: string, example?: string) =>
  ({ kind: 'text', label, ...(example !== undefined && { example }) }) as const;
const amount = (label: string) => ({ kind: 'amount', label, example: '0.01' }) as const;
const period = (what: string) =>
  ({ from: { kind: 'time', label: `${what} from` }, to: { kind: 'time', label: `${what} before` } }) as const;

/** The times by which charts count. */
const FINISHED = {
  finishedFrom: { kind: 'time', label: 'Finished from', isRare: true },
  finishedTo: { kind: 'time', label: 'Finished before', isRare: true },
} as const;

/** For short lists, which people rarely filter by time. */
const CREATED = {
  from: { ...period('Created').from, isRare: true },
  to: { ...period('Created').to, isRare: true },
} as const;
const EVENT_TYPES = { kind: 'many', label: 'Event types', enum: 'EventType', graphql: 'eventTypes' } as const;
const NAME = text('Name contains');
const IS_ACTIVE = { kind: 'yesOrNo', label: 'Enabled', yes: 'Active', no: 'Disabled' } as const;
const IS_PAUSED = { kind: 'yesOrNo', label: 'Delivery', yes: 'Paused', no: 'Not paused' } as const;

/**
 * Every list's filters by their names in REST and in the page's URL. The first ones are always shown. A test compares
 * them with the schema.
 */
export const LIST_FILTERS = {
  payments: {
    status: { kind: 'many', label: 'Status', enum: 'PaymentStatus' },
    minAmountUsd: amount('At least (USD)'),
    maxAmountUsd: amount('At most (USD)'),
    ...period('Received'),
    payer: text('Payer', '0x…'),
    customerId: text('Customer ID', 'cus_…'),
    endpointId: text('Endpoint ID', 'ep_…'),
    transactionHash: text('Transaction', '0x…'),
    identifier: text('Payment identifier'),
    ...FINISHED,
  },
  customers: {
    orderBy: { kind: 'order', label: 'Sort by', enum: 'CustomerOrder', byDefault: 'LAST_PAYMENT' },
    walletAddress: text('Wallet', '0x…'),
    minTotalUsd: amount('Spent at least (USD)'),
    ...period('Last payment'),
  },
  endpoints: {
    pathPrefix: text('Path starts with', '/v1/'),
    isActive: IS_ACTIVE,
    orderBy: { kind: 'order', label: 'Sort by', enum: 'EndpointOrder', byDefault: 'NEWEST' },
    ...CREATED,
  },
  webhooks: { name: NAME, isActive: IS_ACTIVE, isPaused: IS_PAUSED, ...CREATED },
  connectors: {
    name: NAME,
    type: { kind: 'many', label: 'Services', enum: 'ConnectorType', graphql: 'types' },
    isActive: IS_ACTIVE,
    isPaused: IS_PAUSED,
    ...CREATED,
  },
  keys: CREATED,
  deliveries: {
    status: { kind: 'many', label: 'Status', enum: 'DeliveryStatus' },
    eventType: EVENT_TYPES,
    destination: { kind: 'destination', label: 'Destination', standsFor: ['webhookId', 'connectorId'] },
    ...period('Created'),
    eventId: text('Event ID', 'evt_…'),
    ...FINISHED,
  },
  events: { eventType: EVENT_TYPES, resourceId: text('Resource ID', 'pay_…'), ...period('Happened') },
  replays: { status: { kind: 'many', label: 'Status', enum: 'ReplayStatus' }, ...period('Started') },
  notices: {
    type: { kind: 'many', label: 'Types', enum: 'NoticeType', graphql: 'types' },
    isOpen: { kind: 'yesOrNo', label: 'Ongoing', yes: 'Open', no: 'Resolved' },
    isRead: { kind: 'yesOrNo', label: 'Read', yes: 'Read', no: 'Unread' },
    ...period('First seen'),
    subjectId: text('About', 'wh_…'),
  },
  'audit-log': {
    action: { kind: 'many', label: 'Actions', enum: 'AuditAction', graphql: 'actions' },
    targetId: text('Resource ID', 'ep_…'),
    actorId: text('Actor ID', 'usr_…'),
    ...period('Changed'),
  },
} as const satisfies Record<string, FilterFields>;

export type ListName = keyof typeof LIST_FILTERS;

/** Enums whose values are spelled differently in REST. */
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  EventType: formatEventType,
  NoticeType: formatEventType,
  AuditAction: formatAuditAction,
};
/** Enums that are shown with their REST names, and enums with their own labels. */
const LABELS: typeof SPELLINGS = { ...SPELLINGS, AuditAction: actionText };

/** An enum value as a label. */
export function labelOf(enumName: string, value: string): string {
  return (LABELS[enumName] ?? formatEnum)(value);
}

/** The filters in a page's URL. */
export function valuesIn(fields: FilterFields, search: URLSearchParams): FilterValues {
  const all = Object.keys(fields).map((name) => [name, search.getAll(name).filter(Boolean)] as const);
  return Object.fromEntries(all.filter(([, values]) => values.length > 0));
}

/** The filters as fields of the list's input type in GraphQL. */
export function graphqlFilter(fields: FilterFields, values: FilterValues): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, [first = '', ...others]]): [string, unknown][] => {
      const field = fields[name]!;
      if (field.kind === 'order') return [];
      if (field.kind === 'many') return [[field.graphql ?? name, [first, ...others]]];
      if (field.kind === 'yesOrNo') return [[name, first === 'true']];
      return [[field.kind === 'destination' ? destinationFilter(first) : name, first]];
    }),
  );
}

/** The filters as REST query parameters. */
export function restFilters(fields: FilterFields, values: FilterValues): FilterValues {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, selected]) => {
      const field = fields[name]!;
      if (field.kind === 'order') return [];
      if (field.kind === 'many') return [[name, selected.map(SPELLINGS[field.enum] ?? String)]];
      return [[field.kind === 'destination' ? destinationFilter(selected[0]!) : name, selected]];
    }),
  );
}

/** Connector IDs start with `con_`, and webhook IDs with `wh_`. */
function destinationFilter(id: string): string {
  return id.startsWith('con_') ? 'connectorId' : 'webhookId';
}

/** Finds the filter that a field of the list's GraphQL input type belongs to. */
export function filterNamed(fields: FilterFields, name: string): string | undefined {
  return Object.keys(fields).find((each) => {
    const field = fields[each]!;
    if (field.kind === 'destination') return field.standsFor.includes(name);
    return each === name || (field.kind === 'many' && field.graphql === name);
  });
}
