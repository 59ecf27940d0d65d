import type { RequestOptions, Tollgate } from '../../packages/sdk/src/index.ts';
import { timeOf } from './output.ts';

/** The arguments of a list in the SDK. The service checks the query, which consists of text that the user entered. */
export type Call = [query: never, options: RequestOptions];
export type Item = Readonly<Record<string, unknown>>;

/** How an option's value is parsed, and its help text. */
type Filter = { value: string; text: string; read?: (text: string, option: string) => string };

/** A list that the command line can print. */
export type List = {
  /** The last word of its command. For lists in a project, this is also the last part of the path in REST. */
  path: string;
  /** Reads the list with the SDK. */
  open(tollgate: Tollgate, ...call: Call): AsyncIterable<Item>;
  /** Whether the list belongs to the account, not to a project. */
  isOfAccount?: true;
  /** A description of the items, for the help. */
  what: string;
  /** A command line for the help. */
  example: string;
  /** The fields of an item that are printed, in order. */
  columns: readonly string[];
  /** The filters by their names in REST. Options have the same names with dashes. */
  filters: Readonly<Record<string, Filter>>;
};

const time = (text: string): Filter => ({ value: '<time>', text, read: timeOf });
const list = (text: string): Filter => ({ value: '<list>', text });
const id = (text: string): Filter => ({ value: '<id>', text });
const text = (value: string, what: string): Filter => ({ value, text: what });
const yesOrNo = (what: string): Filter => ({ value: '<true|false>', text: what });

/** A period of time. Each end is a duration before now, such as 2h, or a timestamp. */
const period = (what: string) => ({
  from: time(`only ${what} at or after this time: a duration such as 30m or 2h, or a timestamp`),
  to: time(`only ${what} before this time`),
});

const finished = (what: string) => {
  const { from, to } = period(what);
  return { finishedFrom: from, finishedTo: to };
};

/** The filters for the audit logs of projects and of the account. */
const AUDIT_FILTERS = {
  action: list('only entries with these actions, such as webhook.updated'),
  targetId: id('only changes to this resource'),
  actorId: id('only changes by this user or API key'),
  ...period('changes made'),
};

/** Every list in a project, and the account's audit log. A test compares the filters' names with the schema. */
export const LISTS: readonly List[] = [
  {
    path: 'payments',
    open: ({ payments }, ...call) => payments.list(...call),
    what: 'payments',
    example: 'tollgate list payments --status settled --min-amount-usd 0.01 --from 2h',
    columns: ['createdAt', 'id', 'status', 'amountUsd', 'method', 'endpointPath', 'payer', 'failureReason'],
    filters: {
      status: list('only payments with these statuses, such as settled,failed'),
      endpointId: id('only payments for this endpoint'),
      customerId: id('only payments by this customer'),
      payer: text('<wallet>', 'only payments from this wallet'),
      transactionHash: text('<hash>', 'only payments settled by this transaction'),
      identifier: text('<text>', 'only payments with this buyer-supplied identifier'),
      minAmountUsd: text('<amount>', 'only payments of at least this amount'),
      maxAmountUsd: text('<amount>', 'only payments of at most this amount'),
      ...period('payments received'),
      ...finished('payments that settled or failed'),
    },
  },
  {
    path: 'customers',
    open: ({ customers }, ...call) => customers.list(...call),
    what: 'wallets with a settled payment',
    example: 'tollgate list customers --min-total-usd 10',
    columns: ['lastPaymentAt', 'id', 'walletAddress', 'totalUsd', 'paymentCount'],
    filters: {
      walletAddress: text('<wallet>', 'only the customer with this wallet'),
      minTotalUsd: text('<amount>', 'only customers who spent at least this amount'),
      orderBy: text('<order>', 'last_payment (the default), first_payment, total, or created'),
      ...period('customers whose last payment was'),
    },
  },
  {
    path: 'endpoints',
    open: ({ endpoints }, ...call) => endpoints.list(...call),
    what: 'endpoints',
    example: 'tollgate list endpoints --path-prefix /v1/',
    columns: ['id', 'path', 'methods', 'priceUsd', 'isActive'],
    filters: {
      pathPrefix: text('<path>', 'only endpoints whose path starts with this text'),
      isActive: yesOrNo('only active endpoints, or only disabled ones'),
      ...period('endpoints created'),
      orderBy: text('<order>', 'newest (the default), path, or price'),
    },
  },
  {
    path: 'webhooks',
    open: ({ webhooks }, ...call) => webhooks.list(...call),
    what: 'webhooks',
    example: 'tollgate list webhooks --is-paused true',
    columns: ['id', 'name', 'url', 'isActive', 'isPaused'],
    filters: {
      name: text('<text>', 'only webhooks whose name contains this text'),
      isActive: yesOrNo('only webhooks that are active, or only disabled ones'),
      isPaused: yesOrNo('only paused webhooks, or only webhooks that are not paused'),
      ...period('webhooks created'),
    },
  },
  {
    path: 'connectors',
    open: ({ connectors }, ...call) => connectors.list(...call),
    what: 'connectors',
    example: 'tollgate list connectors --type slack,email',
    columns: ['id', 'name', 'type', 'isActive', 'isPaused'],
    filters: {
      name: text('<text>', 'only connectors whose name contains this text'),
      type: list('only connectors of these types, such as slack,email'),
      isActive: yesOrNo('only connectors that are active, or only disabled ones'),
      isPaused: yesOrNo('only paused connectors, or only connectors that are not paused'),
      ...period('connectors created'),
    },
  },
  {
    path: 'keys',
    open: ({ apiKeys }, ...call) => apiKeys.list(...call),
    what: 'API keys, without the keys themselves',
    example: 'tollgate list keys --from 30d',
    columns: ['createdAt', 'id', 'name', 'environment', 'last4', 'lastUsedAt'],
    filters: period('keys created'),
  },
  {
    path: 'deliveries',
    open: ({ deliveries }, ...call) => deliveries.list(...call),
    what: 'deliveries',
    example: 'tollgate list deliveries --status failed --event-type payment.settled',
    columns: ['createdAt', 'id', 'eventType', 'status', 'statusCode', 'webhookId', 'connectorId', 'reason'],
    filters: {
      status: list('only deliveries with these statuses, such as failed,pending'),
      eventType: list('only deliveries of these event types, such as payment.settled'),
      webhookId: id('only deliveries to this webhook'),
      connectorId: id('only deliveries to this connector'),
      eventId: id('only deliveries of this event'),
      ...period('deliveries created'),
      ...finished('deliveries that reached a final status'),
    },
  },
  {
    path: 'events',
    open: ({ events }, ...call) => events.list(...call),
    what: 'events',
    example: 'tollgate list events --event-type payment.failed --from 7d',
    columns: ['timestamp', 'id', 'type'],
    filters: {
      eventType: list('only events of these types, such as payment.settled'),
      resourceId: id('only events about this endpoint, payment, or customer'),
      ...period('events that happened'),
    },
  },
  {
    path: 'replays',
    open: ({ replays }, ...call) => replays.list(...call),
    what: 'replays',
    example: 'tollgate list replays --status running',
    columns: ['createdAt', 'id', 'status', 'done', 'total'],
    filters: { status: list('only replays with these statuses'), ...period('replays started') },
  },
  {
    path: 'notices',
    open: ({ notices }, ...call) => notices.list(...call),
    what: 'notices',
    example: 'tollgate list notices --is-read false',
    columns: ['lastAt', 'id', 'type', 'title'],
    filters: {
      type: list('only notices of these types, such as destination.failing'),
      subjectId: id('only notices about this webhook, connector, API key, or project'),
      isRead: yesOrNo('only read notices, or only unread ones'),
      isOpen: yesOrNo('only notices about ongoing problems, or only about resolved ones'),
      ...period('notices first raised'),
    },
  },
  {
    path: 'audit-log',
    open: ({ auditLog }, ...call) => auditLog.list(...call),
    what: 'changes to the project',
    example: 'tollgate list audit-log --action webhook.updated --from 30d',
    columns: ['createdAt', 'id', 'action', 'targetId', 'actorKind', 'actorName'],
    filters: AUDIT_FILTERS,
  },
  {
    path: 'account-log',
    open: ({ auditLog }, ...call) => auditLog.listAccount(...call),
    isOfAccount: true,
    what: 'changes to your account, such as those made by operators',
    example: 'tollgate list account-log --action user.updated',
    columns: ['createdAt', 'id', 'action', 'targetId', 'actorKind', 'actorName'],
    filters: AUDIT_FILTERS,
  },
];
