// Generated from docs/openapi.json by `npm run generate:docs`. Edit scripts/sdk-source.ts, not this file.

import type { Exported } from './exported.ts';
import type { Feed, FollowOptions } from './feed.ts';
import type { Listing } from './listing.ts';
import type { CreateOptions, RequestOptions } from './options.ts';

/** An error (RFC 9457). */
export type Problem = {
  /** URL of the documentation page about the error. If the service has no `PUBLIC_URL`, it is relative to the URL of the request. To tell errors apart, compare `code`. */
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code:
    | 'BAD_REQUEST'
    | 'MALFORMED_JSON'
    | 'GRAPHQL_INVALID'
    | 'GRAPHQL_TOO_COMPLEX'
    | 'RESPONSE_TOO_LARGE'
    | 'PAYMENT_MALFORMED'
    | 'UNAUTHENTICATED'
    | 'RECENT_SIGN_IN_REQUIRED'
    | 'FORBIDDEN'
    | 'ACCOUNT_BLOCKED'
    | 'CONNECTOR_LIMIT_REACHED'
    | 'WEBHOOK_LIMIT_REACHED'
    | 'PROJECT_LIMIT_REACHED'
    | 'ENDPOINT_LIMIT_REACHED'
    | 'API_KEY_LIMIT_REACHED'
    | 'REPLAY_LIMIT_REACHED'
    | 'SCHEMA_LIMIT_REACHED'
    | 'NOT_FOUND'
    | 'METHOD_NOT_ALLOWED'
    | 'NOT_ACCEPTABLE'
    | 'REQUEST_TIMEOUT'
    | 'CONFLICT'
    | 'HOST_RESERVED'
    | 'IDEMPOTENCY_IN_FLIGHT'
    | 'IDEMPOTENCY_RESPONSE_NOT_STORED'
    | 'PAYMENT_IN_PROGRESS'
    | 'PAYMENT_REUSED'
    | 'PAYMENT_RESPONSE_GONE'
    | 'PAYLOAD_TOO_LARGE'
    | 'UNSUPPORTED_MEDIA_TYPE'
    | 'VALIDATION_FAILED'
    | 'IDEMPOTENCY_KEY_REUSED'
    | 'RATE_LIMITED'
    | 'FUNDS_IN_USE'
    | 'HEADERS_TOO_LARGE'
    | 'INTERNAL'
    | 'OUTCOME_UNCERTAIN'
    | 'UPSTREAM_FAILED'
    | 'FACILITATOR_REJECTED'
    | 'FACILITATOR_UNAVAILABLE'
    | 'PAYMENT_UNRESOLVED'
    | 'UNAVAILABLE'
    | 'UPSTREAM_TIMEOUT';
  requestId: string;
  errors: Array<FieldError>;
};

/** What is wrong with a field of the request. */
export type FieldError = {
  /** JSON pointer (RFC 6901). */
  pointer: string;
  message: string;
};

/** A payment signature was verified. */
export type PaymentVerifiedData = {
  /** ID of the payment, `pay_…`. */
  paymentId: string;
  /** ID of the endpoint, `ep_…`. */
  endpointId: string;
  /** The endpoint’s path at the time of the payment. */
  endpointPath: string;
  /** HTTP method of the paid request. */
  method: string;
  /** ID of the customer, `cus_…`. */
  customerId: string | null;
  payer: string | null;
  /** EVM address with an EIP-55 checksum. */
  payTo: string;
  /** USD as a decimal string, for example, "0.01". */
  amountUsd: string;
  /** Whole atomic units of the asset (millionths for USDC). */
  amountAtomic: string;
  /** Symbol of the asset, for example, "USDC". */
  asset: string;
  /** EVM address with an EIP-55 checksum. */
  assetAddress: string;
  /** CAIP-2 network, for example, "eip155:8453". */
  network: string;
};

/** A payment was settled on-chain. */
export type PaymentSettledData = {
  /** ID of the payment, `pay_…`. */
  paymentId: string;
  /** ID of the endpoint, `ep_…`. */
  endpointId: string;
  /** The endpoint’s path at the time of the payment. */
  endpointPath: string;
  /** HTTP method of the paid request. */
  method: string;
  /** ID of the customer, `cus_…`. */
  customerId: string | null;
  payer: string | null;
  /** EVM address with an EIP-55 checksum. */
  payTo: string;
  /** USD as a decimal string, for example, "0.01". */
  amountUsd: string;
  /** Whole atomic units of the asset (millionths for USDC). */
  amountAtomic: string;
  /** Symbol of the asset, for example, "USDC". */
  asset: string;
  /** EVM address with an EIP-55 checksum. */
  assetAddress: string;
  /** CAIP-2 network, for example, "eip155:8453". */
  network: string;
  /** Hash of the transaction. */
  transactionHash: string;
  /** Day of the settlement in the project’s time zone, as YYYY-MM-DD. Omitted if the time zone has always been UTC. */
  bookingDate?: string;
};

/** A payment failed after it was verified. */
export type PaymentFailedData = {
  /** ID of the payment, `pay_…`. */
  paymentId: string;
  /** ID of the endpoint, `ep_…`. */
  endpointId: string;
  /** The endpoint’s path at the time of the payment. */
  endpointPath: string;
  /** HTTP method of the paid request. */
  method: string;
  /** ID of the customer, `cus_…`. */
  customerId: string | null;
  payer: string | null;
  /** EVM address with an EIP-55 checksum. */
  payTo: string;
  /** USD as a decimal string, for example, "0.01". */
  amountUsd: string;
  /** Whole atomic units of the asset (millionths for USDC). */
  amountAtomic: string;
  /** Symbol of the asset, for example, "USDC". */
  asset: string;
  /** EVM address with an EIP-55 checksum. */
  assetAddress: string;
  /** CAIP-2 network, for example, "eip155:8453". */
  network: string;
  /** The step at which the payment failed. */
  stage: 'verify' | 'upstream' | 'settle';
  /** Stable code, for example, "insufficient_funds". */
  reason: string;
  /** The reason as a sentence. */
  message: string;
  /** Status of the upstream’s response. Omitted if there was no response. */
  upstreamStatusCode?: number;
  /** Hash of the transaction. */
  transactionHash: string | null;
};

/** A new customer made their first payment. */
export type CustomerFirstPaymentData = {
  /** ID of the customer, `cus_…`. */
  customerId: string;
  /** EVM address with an EIP-55 checksum. */
  payer: string;
  /** ID of the payment, `pay_…`. */
  paymentId: string;
  /** ID of the endpoint, `ep_…`. */
  endpointId: string;
  /** The endpoint’s path at the time of the payment. */
  endpointPath: string;
  /** USD as a decimal string, for example, "0.01". */
  amountUsd: string;
  /** Whole atomic units of the asset (millionths for USDC). */
  amountAtomic: string;
  /** Symbol of the asset, for example, "USDC". */
  asset: string;
  /** CAIP-2 network, for example, "eip155:8453". */
  network: string;
  /** Hash of the transaction. */
  transactionHash: string;
};

/** A customer reached a spending milestone. */
export type CustomerMilestoneData = {
  /** ID of the customer, `cus_…`. */
  customerId: string;
  /** EVM address with an EIP-55 checksum. */
  payer: string;
  /** ID of the payment, `pay_…`. */
  paymentId: string;
  /** USD as a decimal string, for example, "0.01". */
  milestoneUsd: string;
  /** USD as a decimal string, for example, "0.01". */
  totalUsd: string;
  /** Number of settled payments. */
  paymentCount: number;
};

/** An endpoint was created. */
export type EndpointCreatedData = {
  /** ID of the endpoint, `ep_…`. */
  endpointId: string;
  /** The endpoint’s path. */
  path: string;
  /** Up to 300 characters. Query values and most of the path are masked. */
  upstreamUrl: string;
  /** USD as a decimal string, for example, "0.01". */
  priceUsd: string;
  /** The endpoint’s description, up to 300 characters. */
  description: string | null;
};

/** An endpoint’s price was changed. */
export type EndpointPricingChangedData = {
  /** ID of the endpoint, `ep_…`. */
  endpointId: string;
  /** The endpoint’s path. */
  path: string;
  /** USD as a decimal string, for example, "0.01". */
  previousPriceUsd: string;
  /** USD as a decimal string, for example, "0.01". */
  priceUsd: string;
};

/** The revenue for a day was summarized. */
export type RevenueDailySummaryData = {
  /** Day in the project’s time zone, as YYYY-MM-DD. */
  date: string;
  /** Start of the day (inclusive), ISO 8601 in UTC. Missing in old events. */
  from?: string;
  /** End of the day (exclusive), ISO 8601 in UTC. Missing in old events. */
  to?: string;
  /** The project’s time zone, for example, "UTC". Missing in old events. */
  timeZone?: string;
  /** USD as a decimal string, for example, "0.01". */
  totalUsd: string;
  /** Number of settled payments. */
  paymentCount: number;
  /** Number of customers with a settled payment. */
  customerCount: number;
  /** Number of failed payments. */
  failedCount: number;
  /** The endpoints with the most revenue, highest first. */
  topEndpoints: Array<{
    /** ID of the endpoint, `ep_…`. */
    endpointId: string;
    /** The endpoint’s path. */
    path: string;
    /** USD as a decimal string, for example, "0.01". */
    totalUsd: string;
    /** Number of settled payments. */
    paymentCount: number;
  }>;
};

/** A payment signature was verified. */
export type PaymentVerifiedEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'payment.verified';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: PaymentVerifiedData;
  /** Present only on test events. */
  test?: true;
};

/** A payment was settled on-chain. */
export type PaymentSettledEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'payment.settled';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: PaymentSettledData;
  /** Present only on test events. */
  test?: true;
};

/** A payment failed after it was verified. */
export type PaymentFailedEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'payment.failed';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: PaymentFailedData;
  /** Present only on test events. */
  test?: true;
};

/** A new customer made their first payment. */
export type CustomerFirstPaymentEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'customer.first_payment';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: CustomerFirstPaymentData;
  /** Present only on test events. */
  test?: true;
};

/** A customer reached a spending milestone. */
export type CustomerMilestoneEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'customer.milestone';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: CustomerMilestoneData;
  /** Present only on test events. */
  test?: true;
};

/** An endpoint was created. */
export type EndpointCreatedEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'endpoint.created';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: EndpointCreatedData;
  /** Present only on test events. */
  test?: true;
};

/** An endpoint’s price was changed. */
export type EndpointPricingChangedEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'endpoint.pricing_changed';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: EndpointPricingChangedData;
  /** Present only on test events. */
  test?: true;
};

/** The revenue for a day was summarized. */
export type RevenueDailySummaryEvent = {
  /** ID of the event, the same on every attempt. Also sent as `webhook-id`. */
  id: string;
  type: 'revenue.daily_summary';
  /** When the event happened, in UTC. */
  timestamp: string;
  /** ID of the project. */
  projectId: string;
  data: RevenueDailySummaryData;
  /** Present only on test events. */
  test?: true;
};

/** What an event contains, which depends on its type. */
export type EventData =
  | PaymentVerifiedData
  | PaymentSettledData
  | PaymentFailedData
  | CustomerFirstPaymentData
  | CustomerMilestoneData
  | EndpointCreatedData
  | EndpointPricingChangedData
  | RevenueDailySummaryData;

/** The format of an export. */
export type ExportFormat = 'csv' | 'jsonl';

/** A file with a row for each item, oldest first. */
export type ExportedFile = string;

/** Operators for `type`. All must match. */
export type TypeCondition = {
  eq?:
    | 'payment.verified'
    | 'payment.settled'
    | 'payment.failed'
    | 'customer.first_payment'
    | 'customer.milestone'
    | 'endpoint.created'
    | 'endpoint.pricing_changed'
    | 'revenue.daily_summary';
  ne?:
    | 'payment.verified'
    | 'payment.settled'
    | 'payment.failed'
    | 'customer.first_payment'
    | 'customer.milestone'
    | 'endpoint.created'
    | 'endpoint.pricing_changed'
    | 'revenue.daily_summary';
  in?: Array<
    | 'payment.verified'
    | 'payment.settled'
    | 'payment.failed'
    | 'customer.first_payment'
    | 'customer.milestone'
    | 'endpoint.created'
    | 'endpoint.pricing_changed'
    | 'revenue.daily_summary'
  >;
  /** Whether the field must have a value. */
  exists?: boolean;
};

/** Operators for text. All must match. */
export type TextCondition = {
  eq?: string;
  ne?: string;
  in?: Array<string>;
  gt?: string;
  gte?: string;
  lt?: string;
  lte?: string;
  startsWith?: string;
  contains?: string;
  /** Whether the field must have a value. */
  exists?: boolean;
};

/** Operators for decimal strings. All must match. */
export type DecimalCondition = {
  eq?: string;
  ne?: string;
  in?: Array<string>;
  gt?: string;
  gte?: string;
  lt?: string;
  lte?: string;
  /** Whether the field must have a value. */
  exists?: boolean;
};

/** Operators for `data.stage`. All must match. */
export type StageCondition = {
  eq?: 'verify' | 'upstream' | 'settle';
  ne?: 'verify' | 'upstream' | 'settle';
  in?: Array<'verify' | 'upstream' | 'settle'>;
  /** Whether the field must have a value. */
  exists?: boolean;
};

/** Operators for whole numbers. All must match. */
export type IntegerCondition = {
  eq?: number;
  ne?: number;
  in?: Array<number>;
  gt?: number;
  gte?: number;
  lt?: number;
  lte?: number;
  /** Whether the field must have a value. */
  exists?: boolean;
};

/** A filter on the contents of events. All conditions must match. A value without an operator means `eq`. */
export type EventContentFilter = {
  /** All of these must match. */
  and?: Array<EventContentFilter>;
  /** At least one must match. */
  or?: Array<EventContentFilter>;
  /** This must not match. */
  not?: EventContentFilter;
  type?:
    | 'payment.verified'
    | 'payment.settled'
    | 'payment.failed'
    | 'customer.first_payment'
    | 'customer.milestone'
    | 'endpoint.created'
    | 'endpoint.pricing_changed'
    | 'revenue.daily_summary'
    | TypeCondition;
  'data.paymentId'?: string | TextCondition;
  'data.endpointId'?: string | TextCondition;
  'data.endpointPath'?: string | TextCondition;
  'data.method'?: string | TextCondition;
  'data.customerId'?: string | TextCondition;
  'data.payer'?: string | TextCondition;
  'data.payTo'?: string | TextCondition;
  'data.amountUsd'?: string | DecimalCondition;
  'data.amountAtomic'?: string | DecimalCondition;
  'data.asset'?: string | TextCondition;
  'data.assetAddress'?: string | TextCondition;
  'data.network'?: string | TextCondition;
  'data.transactionHash'?: string | TextCondition;
  'data.bookingDate'?: string | TextCondition;
  'data.stage'?: 'verify' | 'upstream' | 'settle' | StageCondition;
  'data.reason'?: string | TextCondition;
  'data.message'?: string | TextCondition;
  'data.upstreamStatusCode'?: number | IntegerCondition;
  'data.milestoneUsd'?: string | DecimalCondition;
  'data.totalUsd'?: string | DecimalCondition;
  'data.paymentCount'?: number | IntegerCondition;
  'data.path'?: string | TextCondition;
  'data.upstreamUrl'?: string | TextCondition;
  'data.priceUsd'?: string | DecimalCondition;
  'data.description'?: string | TextCondition;
  'data.previousPriceUsd'?: string | DecimalCondition;
  'data.date'?: string | TextCondition;
  'data.from'?: string | TextCondition;
  'data.to'?: string | TextCondition;
  'data.timeZone'?: string | TextCondition;
  'data.customerCount'?: number | IntegerCondition;
  'data.failedCount'?: number | IntegerCondition;
};

/** The JSON Schemas of an endpoint’s input (draft 2020-12, without `$ref`). */
export type EndpointInputSchema = {
  /** The schema of the query: an object. */
  query?: Record<string, unknown>;
  /** The schema of the path’s parameters: an object. */
  path?: Record<string, unknown>;
  /** The schema of the headers: an object. */
  headers?: Record<string, unknown>;
  /** The schema of the body. */
  body?: Record<string, unknown>;
};

/** The arguments of a tool call, up to 2,000 characters of JSON. */
export type ToolCallArguments = Record<string, unknown>;

/** A person with an account, identified by the issuer and subject of their token. */
export type User = {
  /** Identifier, `usr_…`. */
  id: string;
  /** Issuer of the token. */
  issuer: string;
  /** Subject of the token. */
  subject: string;
  /** When the account was created. */
  createdAt: string;
};

/** What an API key can do. */
export type ApiKeyScope = 'CREDENTIALS' | 'DELIVERIES' | 'PAYMENTS' | 'READ' | 'WRITE';

/** An account’s tier, which sets its limits. */
export type Tier = 'BUSINESS' | 'ENTERPRISE' | 'PRO' | 'STARTER';

/** What the account’s tier includes, and how much of it is in use. */
export type AccountLimits = {
  /** Maximum requests per minute; null means unlimited. */
  requestsPerMinute: number | null;
  /** Maximum number of connectors across all projects; null means unlimited. */
  maxConnectors: number | null;
  /** Maximum number of webhooks per project; null means unlimited. */
  maxWebhooksPerProject: number | null;
  /** How many deliveries replays can resend per day. In a shared project, the owner’s limit applies. */
  maxReplayedDeliveriesPerDay: number;
  /** How many deliveries changes to endpoints can write per day. A change with at most three deliveries doesn’t count. */
  maxChangeDeliveriesPerDay: number;
  /** How many megabytes of delivery requests and responses are stored per day for the account’s own projects. Above this, `Attempt.isContentOmitted` is true. */
  maxStoredContentMegabytesPerDay: number;
  /** How many megabytes of responses over 4 KB are stored per day for `Idempotency-Key`. */
  maxStoredResponseMegabytesPerDay: number;
  /** How many megabytes of `inputSchema` and `exampleResponse` values over 1 KB can be stored per day. */
  maxStoredSchemaMegabytesPerDay: number;
  /** Number of connectors across all projects. */
  connectorCount: number;
};

/** Who you are signed in as. */
export type Viewer = {
  /** The account: the signed-in user, or the owner of the key’s project. */
  user: User;
  /** Your verified email address, which is matched against invitations. Null unless the identity provider is trusted to verify addresses. */
  email: string | null;
  /** The API key, `key_…`; null for users. */
  apiKeyId: string | null;
  /** The project that the API key is scoped to; null for users. */
  projectId: string | null;
  /** What the API key can do; null for users. */
  scopes: Array<ApiKeyScope> | null;
  /** When the credential expires; null for API keys that don’t expire. */
  expiresAt: string | null;
  /** The account’s tier. */
  tier: Tier;
  /** The number of projects that you can see. Null if there are more than 10,000. */
  projectCount: number | null;
  /** The account’s limits. */
  limits: AccountLimits;
  /** Whether you can use operator-only features. */
  isOperator: boolean;
};

/** Whether a project accepts real money. */
export type ProjectMode = 'LIVE' | 'TEST';

/** What a person may do in a project. */
export type ProjectRole = 'ADMIN' | 'DEVELOPER' | 'OWNER' | 'VIEWER';

/** A header that the gateway adds to requests to a project’s upstreams. */
export type ProjectUpstreamHeader = {
  /** The name of the header. */
  name: string;
  /** The header’s value, masked as `••••` followed by at most its last four characters. */
  value: string;
  /** Only upstreams at or under this URL get the header. The URL’s secrets are masked for API keys and for the role `VIEWER`. */
  urlPrefix: string;
};

/** A container for endpoints, API keys, webhooks, and connectors. Its wallet receives the payments. */
export type Project = {
  /** Identifier, `proj_…`. */
  id: string;
  /** Display name. */
  name: string;
  /** EVM wallet that receives payments, EIP-55 checksummed. */
  walletAddress: string;
  /** Custom domain for the endpoints. Paths on this domain don’t start with `/gateway/{projectId}`. It works once `gatewayHostStatus` is `ACTIVE`. */
  gatewayHost: string | null;
  /** The project’s name in `defaultHost`. Null if the operator of this service hasn’t set up default domains. */
  slug: string | null;
  /** The project’s default domain. Null if the operator of this service hasn’t set up default domains. */
  defaultHost: string | null;
  /** The base URL of the endpoints: on the custom domain if it works, on `defaultHost`, or under `/gateway/{projectId}`. Null if this server’s public URL isn’t known. */
  gatewayUrl: string | null;
  /** Milestones for a customer’s total spend, in USD, in ascending order. */
  milestonesUsd: Array<string>;
  /** Whether the project accepts real money. The mode never changes. */
  mode: ProjectMode;
  /** The networks that buyers can pay on, as CAIP-2 IDs, in order of preference. An empty list means all of this server’s networks in the project’s mode. */
  networks: Array<string>;
  /** The time zone of the days of daily summaries, revenue, and bookings, such as `Europe/Vienna`. Default: `UTC`. */
  timeZone: string;
  /** Your role in the project; null for API keys. */
  viewerRole: ProjectRole | null;
  /** Headers that the gateway adds to requests to the project’s upstreams. An endpoint’s own header with the same name takes precedence. */
  upstreamHeaders: Array<ProjectUpstreamHeader>;
  /** What the project offers. Shown to buyers. */
  description: string | null;
  /** URL of an icon. Shown to buyers. */
  iconUrl: string | null;
  /** Email address or URL for buyers who need help. Shown to buyers. */
  contact: string | null;
  /** When the project was created. */
  createdAt: string;
  /** When the project was last changed. */
  updatedAt: string;
};

/** A page of a list. */
export type ProjectList = {
  data: Array<Project>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** A header for the gateway to add to requests to a project’s upstreams. */
export type ProjectUpstreamHeaderInput = {
  /** The name of the header. Some names aren’t allowed. */
  name: string;
  /** Only upstreams at or under this URL get the header, for example, "https://api.example.com/v1". If you change the URL, send the value again. */
  urlPrefix: string;
  /** The header’s value: visible ASCII characters, for example, "Bearer …". If you send a masked value back, the value doesn’t change. */
  value: string;
};

/** Properties of the new project. */
export type CreateProjectRequest = {
  /** Email address or HTTPS URL for buyers who need help. Shown to buyers. */
  contact?: string | null;
  /** What the project offers, up to 1,000 characters. Shown to buyers. */
  description?: string | null;
  /** Custom domain for the endpoints, for example, "api.example.com". */
  gatewayHost?: string | null;
  /** HTTPS URL of an icon. Shown to buyers. */
  iconUrl?: string | null;
  /** Milestones for a customer’s total spend, in USD (up to 50). Default: 1, 10, 100, 1,000, and 10,000. */
  milestonesUsd?: Array<string>;
  /** Whether the project accepts real money. You can’t change this later. Default: `LIVE`, or `TEST` on a server with only test networks. */
  mode?: ProjectMode | null;
  /** Display name, 1 to 200 characters. */
  name: string;
  /** The networks that buyers can pay on, as CAIP-2 IDs, in order of preference. An empty list means all of this server’s networks in the project’s mode. */
  networks?: Array<string>;
  /** The time zone of the days of daily summaries, revenue, and bookings: a name in the IANA database, such as `Europe/Vienna`. Default: `UTC`. */
  timeZone?: string;
  /** Headers for the gateway to add to requests to the project’s upstreams. Up to 20 headers, totaling up to 8,192 bytes. */
  upstreamHeaders?: Array<ProjectUpstreamHeaderInput> | null;
  /** EVM wallet that receives payments. */
  walletAddress: string;
};

/** Changes to a project. Omitted fields stay unchanged. */
export type UpdateProjectRequest = {
  /** Email address or HTTPS URL for buyers who need help. Shown to buyers. Set to null to remove it. */
  contact?: string | null;
  /** What the project offers, up to 1,000 characters. Shown to buyers. Set to null to remove it. */
  description?: string | null;
  /** Custom domain for the endpoints, for example, "api.example.com". Set to null to remove it. The old domain stays reserved for your account for 30 days. A new domain replaces the old one once you verify that you own it; see `gatewayHostStatus`. API keys can’t change this. */
  gatewayHost?: string | null;
  /** HTTPS URL of an icon. Shown to buyers. Set to null to remove it. */
  iconUrl?: string | null;
  /** Milestones for a customer’s total spend, in USD (up to 50). An empty list means no milestones. */
  milestonesUsd?: Array<string>;
  /** Display name, 1 to 200 characters. */
  name?: string;
  /** The networks that buyers can pay on, as CAIP-2 IDs, in order of preference. An empty list means all of this server’s networks in the project’s mode. API keys can’t change this. */
  networks?: Array<string>;
  /** The project’s name in `defaultHost`: 3 to 40 lowercase letters, digits, and single hyphens. The old name stays reserved for your account for 30 days. API keys can’t change this. */
  slug?: string;
  /** The time zone of the days of daily summaries, revenue, and bookings: a name in the IANA database, such as `Europe/Vienna`. The current day then ends at midnight in the new time zone. */
  timeZone?: string;
  /** Headers for the gateway to add to requests to the project’s upstreams. Replaces the list. Set to null or an empty list to remove all headers. API keys can’t change this. */
  upstreamHeaders?: Array<ProjectUpstreamHeaderInput> | null;
  /** EVM wallet that receives payments. API keys can’t change this. */
  walletAddress?: string;
};

/** Which project to copy, and how the copy differs. */
export type CopyProjectRequest = {
  /** Whether the copy accepts real money. You can’t change this later. */
  mode: ProjectMode;
  /** Display name of the copy, 1 to 200 characters. */
  name: string;
  /** The networks that buyers can pay on, as CAIP-2 IDs, in order of preference. An empty list means all of this server’s networks in the project’s mode. */
  networks?: Array<string> | null;
  /** EVM wallet that receives the copy’s payments. */
  walletAddress: string;
};

/** The secret for verifying requests from the gateway. Null for API keys and for viewers. */
export type UpstreamSecret = {
  /** The secret that your API uses to verify that a request came through the gateway, `whsec_…`. Null if you read it with an API key. */
  upstreamSecret: string | null;
  /** Until this time, requests to your API are also signed with the previous secret. */
  previousUpstreamSecretExpiresAt: string | null;
};

/** The project that gets a new secret, and how long requests are also signed with the old one. */
export type RotateUpstreamSecretRequest = {
  /** How many hours (0 to 168) requests are also signed with the old secret. Default: 24. */
  overlapHours?: number | null;
};

/** The status of a custom domain. */
export type DomainStatus = 'ACTIVE' | 'FAILING' | 'PENDING';

/** A TXT record in DNS. */
export type DnsRecord = {
  /** The name of the record. */
  name: string;
  /** The value of the record. */
  value: string;
};

/** A response for your own server to return before you point the domain at the gateway. */
export type HttpChallenge = {
  /** The URL that Tollgate requests. Redirects aren’t followed. */
  url: string;
  /** The response body. The status must be 200. */
  body: string;
};

/** A project’s custom domain, and how to verify that you own it: publish either the record or the response. */
export type GatewayHostStatus = {
  /** The domain. */
  host: string;
  /** The status of the domain. */
  status: DomainStatus;
  /** The custom domain that the gateway serves now. While a new one is pending, this is the old one. */
  activeHost: string | null;
  /** When you verified that you own the domain. */
  verifiedAt: string | null;
  /** When the domain was last checked. */
  lastCheckedAt: string | null;
  /** When the domain will be checked next. Null if it is checked only on request. */
  nextCheckAt: string | null;
  /** When the checks started failing. */
  failingSince: string | null;
  /** Why the last check failed. */
  problem: string | null;
  /** The record that verifies the domain. Null for development domains, which don’t need to be verified. */
  dnsRecord: DnsRecord | null;
  /** A response that you can publish instead of the record. */
  httpChallenge: HttpChallenge | null;
};

/** The project whose custom domain to check. */
export type VerifyGatewayHostRequest = Record<string, unknown>;

/** The result of `verifyGatewayHost`. */
export type VerifyGatewayHostResponse = {
  /** The result of the check. Null if the project has no custom domain. */
  gatewayHostStatus: GatewayHostStatus | null;
};

/** The period of a limit. Counts start over when it ends. */
export type BuyerLimitPeriod = 'DAY' | 'HOUR' | 'MONTH';

/** Which wallets may pay a project, and how much each of them may buy. */
export type BuyerRules = {
  /** If there are any, only these wallets may pay. EIP-55 checksummed. */
  allowedWallets: Array<string>;
  /** Wallets that may not pay, even if they are also in `allowedWallets`. EIP-55 checksummed. */
  deniedWallets: Array<string>;
  /** The period that the limits apply to. */
  period: BuyerLimitPeriod;
  /** How many paid requests a wallet can make in a period. Null if there is no limit. */
  maxRequests: number | null;
  /** How much a wallet can spend in a period, in USD. Null if there is no limit. */
  maxSpendUsd: string | null;
};

/** Changes to a project’s buyer rules. Omitted fields stay unchanged. */
export type UpdateBuyerRulesRequest = {
  /** The only wallets that may pay, up to 1,000. Replaces the list. An empty list means that every wallet may pay. */
  allowedWallets?: Array<string>;
  /** Wallets that may not pay, up to 1,000. Replaces the list. */
  deniedWallets?: Array<string>;
  /** How many paid requests a wallet can make in a period. Set to null to remove the limit. */
  maxRequests?: number | null;
  /** How much a wallet can spend in a period, in USD, for example, "5". Set to null to remove the limit. */
  maxSpendUsd?: string | null;
  /** The period that the limits apply to. Default: `DAY`. */
  period?: BuyerLimitPeriod;
};

/** The wallet to deny. */
export type DenyBuyerRequest = {
  /** The wallet. */
  walletAddress: string;
};

/** The wallet to allow. */
export type AllowBuyerRequest = {
  /** The wallet. */
  walletAddress: string;
};

/** How endpoints are sorted. */
export type EndpointOrder = 'NEWEST' | 'PATH' | 'PRICE';

/** A header that the gateway adds to requests to an endpoint’s upstream. */
export type UpstreamHeader = {
  /** The name of the header. */
  name: string;
  /** The header’s value, masked as `••••` followed by at most its last four characters. */
  value: string;
};

/** What is behind an endpoint. */
export type EndpointProtocol = 'HTTP' | 'MCP';

/** When a payment is settled. */
export type SettlementOrder = 'AFTER_RESPONSE' | 'BEFORE_REQUEST';

/** A paid route: a public path, the API behind it, and a price per request. */
export type Endpoint = {
  /** Identifier, `ep_…`. */
  id: string;
  /** The project that the endpoint belongs to. */
  projectId: string;
  /** Public path, in canonical form. */
  path: string;
  /** URL of the API behind the endpoint. Its secrets are masked for API keys and for the role `VIEWER`. */
  upstreamUrl: string;
  /** Price per request, or per tool call of an MCP server, in USD, as a decimal string with at most 6 decimal places. "0" is free. */
  priceUsd: string;
  /** Free-text description. */
  description: string | null;
  /** Whether the gateway serves this endpoint. */
  isActive: boolean;
  /** Lowercase names of the request headers that are forwarded to the API in addition to the default ones. */
  forwardedHeaders: Array<string>;
  /** Headers that the gateway adds to requests to the API, such as its credentials. */
  upstreamHeaders: Array<UpstreamHeader>;
  /** The HTTP methods that the endpoint serves, in uppercase. Other requests get 405. Several endpoints can have the same path with different methods, for example, to set a price per method. */
  methods: Array<string>;
  /** The media type of the endpoint’s responses. Shown to buyers. */
  mimeType: string | null;
  /** JSON Schemas for the query, the path’s parameters, the headers, and the body: `{ "query": …, "path": …, "headers": …, "body": … }`. Shown to buyers. */
  inputSchema: EndpointInputSchema | null;
  /** An example response. Shown to buyers. */
  exampleResponse: unknown;
  /** Topics that help buyers find the endpoint. */
  tags: Array<string>;
  /** What is behind the endpoint. */
  protocol: EndpointProtocol;
  /** When the endpoint’s payments are settled. */
  settlement: SettlementOrder;
  /** Time limit for the API in seconds. Null means 60. */
  timeoutSeconds: number | null;
  /** Potential problems, for example, a price that most clients refuse to pay. */
  warnings: Array<string>;
  /** When the endpoint was created. */
  createdAt: string;
  /** When the endpoint was last changed. */
  updatedAt: string;
};

/** A page of a list. */
export type EndpointList = {
  data: Array<Endpoint>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** A header for the gateway to add to requests to an endpoint’s upstream. */
export type UpstreamHeaderInput = {
  /** The name of the header. Some names aren’t allowed. */
  name: string;
  /** The header’s value: visible ASCII characters, for example, "Bearer …". If you send a masked value back, the value doesn’t change. */
  value: string;
};

/** Properties of the new endpoint. */
export type CreateEndpointRequest = {
  /** Free-text description, up to 1,000 characters. */
  description?: string | null;
  /** An example response: any JSON value, up to 32 KB and 2,000 values. Shown to buyers. */
  exampleResponse?: unknown;
  /** Names of up to 32 request headers to forward to the API in addition to the default ones, for example, "x-api-version". */
  forwardedHeaders?: Array<string>;
  /** JSON Schemas (draft 2020-12, without `$ref`) for the query, the path’s parameters, the headers, and the body, up to 32 KB and 2,000 values: `{ "query": …, "path": …, "headers": …, "body": … }`. Shown to buyers. */
  inputSchema?: EndpointInputSchema | null;
  /** The HTTP methods that the endpoint serves: any of GET, HEAD, POST, PUT, PATCH, and DELETE. Default: GET, HEAD, and POST. To serve all methods, list all six. */
  methods?: Array<string>;
  /** The media type of the endpoint’s responses, for example, "application/json". */
  mimeType?: string | null;
  /** Public path, starting with a slash. `:name` matches one segment; a trailing `*` matches the rest. */
  path: string;
  /** Price per request in USD, for example, "0.01". "0" makes the endpoint free. */
  priceUsd: string;
  /** What is behind the endpoint. Defaults to `HTTP`. With `MCP`, buyers pay for tool calls, the methods are GET, POST, and DELETE, and `settlement` must be `AFTER_RESPONSE`. */
  protocol?: EndpointProtocol;
  /** When the endpoint’s payments are settled. Defaults to `AFTER_RESPONSE`. */
  settlement?: SettlementOrder;
  /** Topics that help buyers find the endpoint: up to 10, each up to 32 ASCII characters. */
  tags?: Array<string> | null;
  /** Time limit for the API, in seconds. It covers the whole response and can be up to 60. With `BEFORE_REQUEST`, it covers the wait for the response headers and for each chunk, and can be up to 600. Defaults to 60. */
  timeoutSeconds?: number | null;
  /** Headers for the gateway to add to requests to the API, such as its credentials. Up to 20 headers, totaling up to 8,192 bytes. */
  upstreamHeaders?: Array<UpstreamHeaderInput> | null;
  /** HTTPS URL of the API behind the endpoint. Can include placeholders from the path. */
  upstreamUrl: string;
};

/** Changes to an endpoint. Omitted fields stay unchanged. */
export type UpdateEndpointRequest = {
  /** Free-text description, up to 1,000 characters. Set to null to remove it. */
  description?: string | null;
  /** An example response: any JSON value, up to 32 KB and 2,000 values. Set to null to remove it. */
  exampleResponse?: unknown;
  /** Names of up to 32 request headers to forward to the API in addition to the default ones. Replaces the list. Send an empty list to remove all names. */
  forwardedHeaders?: Array<string>;
  /** JSON Schemas (draft 2020-12, without `$ref`) for the query, the path’s parameters, the headers, and the body, up to 32 KB and 2,000 values: `{ "query": …, "path": …, "headers": …, "body": … }`. Set to null to remove them. */
  inputSchema?: EndpointInputSchema | null;
  /** Whether the gateway serves this endpoint. */
  isActive?: boolean;
  /** The HTTP methods that the endpoint serves: any of GET, HEAD, POST, PUT, PATCH, and DELETE. Replaces the list. To serve all methods, list all six. */
  methods?: Array<string>;
  /** The media type of the endpoint’s responses, for example, "application/json". Set to null to remove it. */
  mimeType?: string | null;
  /** Public path, starting with a slash. */
  path?: string;
  /** Price per request in USD, for example, "0.01". "0" makes the endpoint free. */
  priceUsd?: string;
  /** What is behind the endpoint. If you change this, `methods` is also reset to the default, unless you set it. */
  protocol?: EndpointProtocol;
  /** When the endpoint’s payments are settled. */
  settlement?: SettlementOrder;
  /** Topics that help buyers find the endpoint: up to 10, each up to 32 ASCII characters. Replaces the list. Set to null to remove all tags. */
  tags?: Array<string> | null;
  /** Time limit for the API, in seconds. It covers the whole response and can be up to 60. With `BEFORE_REQUEST`, it covers the wait for the response headers and for each chunk, and can be up to 600. Set to null to restore the default, 60. */
  timeoutSeconds?: number | null;
  /** Headers for the gateway to add to requests to the API. Replaces the list. Set to null or an empty list to remove all headers. If you change `upstreamUrl`, or the part of `path` that starts with its first placeholder, send the values again. */
  upstreamHeaders?: Array<UpstreamHeaderInput> | null;
  /** HTTPS URL of the API behind the endpoint. */
  upstreamUrl?: string;
};

/** An OpenAPI document to compare with the project’s endpoints. */
export type PreviewImportRequest = {
  /** The OpenAPI document (3.0, 3.1, or Swagger 2.0) in JSON or YAML, up to 5 MB. Send either this or `url`. */
  document?: string | null;
  /** Price per request for new endpoints in USD, for example, "0.01". */
  priceUsd?: string | null;
  /** HTTPS URL of your API. Paths are appended to it. Default: the document’s first server. */
  upstreamUrl?: string | null;
  /** HTTPS URL of the document, which is fetched without credentials. */
  url?: string | null;
};

/** How an endpoint in a document compares with the project’s endpoints. */
export type ImportPreviewStatus = 'CHANGED' | 'GONE' | 'NEW' | 'SAME';

/** A field of an endpoint that an import would change. */
export type ImportChange = {
  /** The field’s name. */
  field: string;
  /** The field’s current value. Null also if the preview would be too large; see `problems`. */
  before: unknown;
  /** The field’s value in the document. */
  after: unknown;
};

/** An endpoint that is in the document, in the project, or in both. */
export type ImportPreviewItem = {
  /** How the item compares with the project’s endpoints. */
  status: ImportPreviewStatus;
  /** Public path, in canonical form: `/users/:id` for `/users/{id}`. */
  path: string;
  /** HTTP methods in the document. */
  methods: Array<string>;
  /** Description from the document. */
  description: string | null;
  /** URL of the API behind the endpoint. If you read this URL with an API key, its secrets are masked. */
  upstreamUrl: string;
  /** Price of the existing endpoint, or the default price of a new one. */
  priceUsd: string | null;
  /** Media type of a successful response. */
  mimeType: string | null;
  /** Tags from the document. */
  tags: Array<string>;
  /** The existing endpoint. */
  endpointId: string | null;
  /** What an import would change. */
  changes: Array<ImportChange>;
  /** What you should know before you import the endpoint. */
  problems: Array<string>;
};

/** A part of a document that can’t be imported. */
export type ImportProblem = {
  /** The location of the problem in the document: a JSON pointer (RFC 6901). */
  pointer: string;
  /** Why this part can’t be imported. */
  message: string;
};

/** The result of `previewImport`. */
export type PreviewImportResponse = {
  /** Title of the API. */
  title: string | null;
  /** Description of the API. */
  description: string | null;
  /** The API’s servers. */
  servers: Array<string>;
  /** The endpoints: those in the document, then the project’s other endpoints. */
  items: Array<ImportPreviewItem>;
  /** The parts of the document that can’t be imported. */
  problems: Array<ImportProblem>;
};

/** An endpoint to import. */
export type ImportItemInput = {
  /** The endpoint’s methods in the preview. Required only if the preview has several items with this path. */
  methods?: Array<string> | null;
  /** The endpoint’s path in the preview. */
  path: string;
  /** Price per request in USD. Default: the import’s `priceUsd` for a new endpoint, and no change for an existing one. */
  priceUsd?: string | null;
  /** The endpoint’s upstream URL in the preview. If the document at `url` has changed since then and now has another one, the item fails. */
  upstreamUrl?: string | null;
};

/** An OpenAPI document, and the endpoints to import from it. */
export type ImportEndpointsRequest = {
  /** The OpenAPI document (3.0, 3.1, or Swagger 2.0) in JSON or YAML, up to 5 MB. Send either this or `url`. */
  document?: string | null;
  /** The endpoints to create or update, up to 200. Each counts as a request. */
  items: Array<ImportItemInput>;
  /** Price per request for new endpoints in USD, for example, "0.01". */
  priceUsd?: string | null;
  /** HTTPS URL of your API. Paths are appended to it. Default: the document’s first server. */
  upstreamUrl?: string | null;
  /** HTTPS URL of the document, which is fetched without credentials. */
  url?: string | null;
};

/** What an import did to an endpoint. */
export type ImportStatus = 'CREATED' | 'FAILED' | 'SAME' | 'UPDATED';

/** Why an endpoint was not imported. */
export type ImportError = {
  /** Error code, as used in other error responses. */
  code: string;
  /** The error message, which says what to change. */
  message: string;
};

/** The result of importing one item. */
export type ImportedEndpoint = {
  /** Public path. */
  path: string;
  /** HTTP methods in the document. */
  methods: Array<string>;
  /** The outcome of the import. */
  status: ImportStatus;
  /** The affected endpoint. Null if the project has no such endpoint. */
  endpointId: string | null;
  /** Why the import of this item failed. */
  error: ImportError | null;
};

/** The result of `importEndpoints`. */
export type ImportEndpointsResponse = {
  /** The results, in the order of the items. */
  results: Array<ImportedEndpoint>;
};

/** What an API key is for. */
export type KeyEnvironment = 'LIVE' | 'TEST';

/** A credential for programs, scoped to one project. The full key is shown only once, when you create it. */
export type ApiKey = {
  /** Identifier, `key_…`. */
  id: string;
  /** The project that the key is scoped to. */
  projectId: string;
  /** Display name. */
  name: string;
  /** The key’s environment. By default, the project’s mode. */
  environment: KeyEnvironment;
  /** The first characters of the key. */
  prefix: string;
  /** The last four characters of the key. */
  last4: string;
  /** What the key can do. */
  scopes: Array<ApiKeyScope>;
  /** The IP addresses and CIDR blocks that the key can be used from. Empty if from any address. */
  allowedAddresses: Array<string>;
  /** When the key stops working; null if never. Expired keys stay in the list until you revoke them. */
  expiresAt: string | null;
  /** When the key was last used, to the minute; null if never. */
  lastUsedAt: string | null;
  /** The person who created the key, `usr_…`; null for older keys. The key belongs to the project and keeps working if this person leaves. */
  createdById: string | null;
  /** When the key was created. */
  createdAt: string;
};

/** A page of a list. */
export type ApiKeyList = {
  data: Array<ApiKey>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** Properties of the new API key. */
export type CreateApiKeyRequest = {
  /** The IP addresses and CIDR blocks that the key can be used from, 1 to 20, such as `203.0.113.0/24`. Default: any address. */
  allowedAddresses?: Array<string> | null;
  /** Default: the project’s mode. */
  environment?: KeyEnvironment | null;
  /** When the key stops working. Must be in the future. Default: never. */
  expiresAt?: string | null;
  /** Display name, 1 to 200 characters. */
  name: string;
  /** What the key can do: at least one scope. Default: `READ`, `DELIVERIES`, and `WRITE`. */
  scopes?: Array<ApiKeyScope> | null;
};

/** A credential for programs, scoped to one project. The full key is shown only once, when you create it. */
export type CreateApiKeyResponse = {
  /** Identifier, `key_…`. */
  id: string;
  /** The project that the key is scoped to. */
  projectId: string;
  /** Display name. */
  name: string;
  /** The key’s environment. By default, the project’s mode. */
  environment: KeyEnvironment;
  /** The first characters of the key. */
  prefix: string;
  /** The last four characters of the key. */
  last4: string;
  /** What the key can do. */
  scopes: Array<ApiKeyScope>;
  /** The IP addresses and CIDR blocks that the key can be used from. Empty if from any address. */
  allowedAddresses: Array<string>;
  /** When the key stops working; null if never. Expired keys stay in the list until you revoke them. */
  expiresAt: string | null;
  /** When the key was last used, to the minute; null if never. */
  lastUsedAt: string | null;
  /** The person who created the key, `usr_…`; null for older keys. The key belongs to the project and keeps working if this person leaves. */
  createdById: string | null;
  /** When the key was created. */
  createdAt: string;
  /** The full key. Shown only once, because the service doesn’t store it. */
  key: string;
};

/** A third-party service that events can be delivered to. */
export type ConnectorType =
  | 'amplitude'
  | 'bigquery'
  | 'datadog'
  | 'discord'
  | 'dune'
  | 'email'
  | 'ga4'
  | 'google-sheets'
  | 'hubspot'
  | 'linear'
  | 'make'
  | 'mixpanel'
  | 'n8n'
  | 'opsgenie'
  | 'pagerduty'
  | 'quickbooks'
  | 'resend'
  | 'salesforce'
  | 'segment'
  | 'slack'
  | 'supabase'
  | 'teams'
  | 'telegram'
  | 'twilio'
  | 'xero'
  | 'zapier';

/** An event type to subscribe to, or all event types. */
export type EventTypeFilter =
  | '*'
  | 'customer.first_payment'
  | 'customer.milestone'
  | 'endpoint.created'
  | 'endpoint.pricing_changed'
  | 'payment.failed'
  | 'payment.settled'
  | 'payment.verified'
  | 'revenue.daily_summary';

/** A third-party service that receives events in its own format, for example, Slack or BigQuery. */
export type Connector = {
  /** Identifier, `con_…`. */
  id: string;
  /** The project that the destination belongs to. */
  projectId: string;
  /** The destination’s name; null if it has none. */
  name: string | null;
  /** The service. */
  type: ConnectorType;
  /** The configuration, with the connector type’s fields. Secrets are masked as `••••` followed by their last four characters. */
  config: unknown;
  /** The subscribed event types. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events; null sends all events. No delivery is created for events that don’t match. Those events list this destination in `filteredOut`, and `deliveryStats` counts them. */
  filter: EventContentFilter | null;
  /** Whether events are sent. While this is false, events are skipped. */
  isActive: boolean;
  /** Why Tollgate disabled the destination: `gone` (it responded with 410) or `failing` (five days without a success). Null if the destination is active or you disabled it. */
  disabledReason: string | null;
  /** When the destination was disabled; null while it is active. */
  disabledAt: string | null;
  /** Whether deliveries are held. While this is true, deliveries wait. They are sent once this is false. */
  isPaused: boolean;
  /** Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that were rejected for the same reason. Null if they aren’t paused or you paused them. */
  pausedReason: string | null;
  /** When deliveries were paused; null if they aren’t paused. */
  pausedAt: string | null;
  /** When Tollgate next checks whether the credentials work again. If they do, Tollgate resumes the connector. Null if the connector isn’t paused, if you paused it, if five deliveries in a row were rejected, or if the service doesn’t support this check. */
  nextProbeAt: string | null;
  /** When the service stops accepting the stored credential. Reconnect the connector before then. Null if the service doesn’t report an expiration time. Only QuickBooks does. */
  credentialExpiresAt: string | null;
  /** When the current run of failures started; null if the last delivery succeeded. */
  failingSince: string | null;
  /** After several failures in a row, deliveries wait until this time, except those you resend manually. */
  circuitOpenUntil: string | null;
  /** Rate limit in requests per second, for example, 0.5; null for no limit. Connectors always stay within their vendor’s limit. */
  maxPerSecond: number | null;
  /** When the destination was created. */
  createdAt: string;
  /** When the destination was last changed. */
  updatedAt: string;
};

/** A page of a list. */
export type ConnectorList = {
  data: Array<Connector>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** Configuration for Amplitude connectors. */
export type AmplitudeConnectorConfig = {
  /** In Amplitude: Settings > Organization settings > Projects > your project. Use the API key, not the secret key. */
  apiKey: string;
  /** The data region of your Amplitude project: us (default) or eu. Can be "us" or "eu". */
  region?: 'us' | 'eu';
};

/** Properties of a new connector of the type `amplitude`. */
export type CreateAmplitudeConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: AmplitudeConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'amplitude';
};

/** Configuration for BigQuery connectors. */
export type BigqueryConnectorConfig = {
  /** An OAuth access token with the bigquery.insertdata scope. It expires after about an hour, so we recommend using a service account key instead. */
  accessToken?: string;
  /** The dataset, without the project ID. */
  datasetId: string;
  /** Set when you connect an account in the console. */
  grant?: string;
  /** The Google Cloud project that contains the dataset. */
  projectId: string;
  /** The JSON key file of a service account that can insert rows into the table. Unlike an access token, the key doesn't expire. */
  serviceAccountKey?: string;
  /** The table that receives one row per event. Create it first with the SQL statement in the documentation. */
  tableId: string;
};

/** Properties of a new connector of the type `bigquery`. */
export type CreateBigqueryConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: BigqueryConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'bigquery';
};

/** Configuration for Datadog connectors. */
export type DatadogConnectorConfig = {
  /** In Datadog: Organization Settings > API Keys. Use an API key, not an application key. */
  apiKey: string;
  /** Your Datadog site, as in the address of the Datadog app. Default: datadoghq.com. Can be "datadoghq.com", "us3.datadoghq.com", "us5.datadoghq.com", "ap1.datadoghq.com", "ap2.datadoghq.com", "uk1.datadoghq.com", "datadoghq.eu", "ddog-gov.com", or "us2.ddog-gov.com". */
  site?:
    | 'datadoghq.com'
    | 'us3.datadoghq.com'
    | 'us5.datadoghq.com'
    | 'ap1.datadoghq.com'
    | 'ap2.datadoghq.com'
    | 'uk1.datadoghq.com'
    | 'datadoghq.eu'
    | 'ddog-gov.com'
    | 'us2.ddog-gov.com';
};

/** Properties of a new connector of the type `datadog`. */
export type CreateDatadogConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: DatadogConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'datadog';
};

/** Configuration for Discord connectors. */
export type DiscordConnectorConfig = {
  /** The IDs of the tags for the posts that the connector creates. Some forum channels require a tag. */
  appliedTags?: Array<string>;
  /** The ID of a thread, or of a forum channel's post, to post to. Replaces thread_id in the URL. */
  threadId?: string;
  /** For a forum or media channel: creates a post with this name for every event, unless there is a thread ID. */
  threadName?: string;
  /** The URL of a channel webhook. Append `?thread_id=<id>` to post to a thread. */
  webhookUrl: string;
};

/** Properties of a new connector of the type `discord`. */
export type CreateDiscordConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: DiscordConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'discord';
};

/** Configuration for Dune connectors. */
export type DuneConnectorConfig = {
  /** A Dune API key with the Read/Write scope. */
  apiKey: string;
  /** Your Dune user or team handle. Detected automatically if your account has already uploaded a table. */
  namespace?: string;
  /** The table that receives one row per event. The table is created if it doesn't exist. Default: x402_events. */
  table?: string;
  /** Who can query the table. Takes effect when the table is created. Default: private, which some Dune plans don't offer. Can be "private" or "public". */
  visibility?: 'private' | 'public';
};

/** Properties of a new connector of the type `dune`. */
export type CreateDuneConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: DuneConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'dune';
};

/** Configuration for Email (SendGrid) connectors. */
export type EmailConnectorConfig = {
  /** A SendGrid API key with the "Mail Send" permission. */
  apiKey: string;
  /** The sender. The address or its domain must be verified in SendGrid. */
  from: string;
  /** Choose eu for subusers in the EU region. Default: global. Can be "global" or "eu". */
  region?: 'global' | 'eu';
  /** Each recipient gets a separate email. */
  to: Array<string>;
};

/** Properties of a new connector of the type `email`. */
export type CreateEmailConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: EmailConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'email';
};

/** Configuration for Google Analytics 4 connectors. */
export type Ga4ConnectorConfig = {
  /** In Google Analytics: Admin > Data streams > your web stream > Measurement Protocol API secrets > Create. */
  apiSecret: string;
  /** In Google Analytics: Admin > Data streams > your web stream. Use the measurement ID, not the stream ID. */
  measurementId: string;
  /** Choose eu to collect the data in the European Union. Default: global. Can be "global" or "eu". */
  region?: 'global' | 'eu';
};

/** Properties of a new connector of the type `ga4`. */
export type CreateGa4ConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: Ga4ConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'ga4';
};

/** Configuration for Google Sheets connectors. */
export type GoogleSheetsConnectorConfig = {
  /** An OAuth access token with the spreadsheets scope. It expires after about an hour, so we recommend using a service account key instead. */
  accessToken?: string;
  /** Set when you connect an account in the console. */
  grant?: string;
  /** The JSON key file of a service account that can edit the spreadsheet. Unlike an access token, the key doesn't expire. */
  serviceAccountKey?: string;
  /** The sheet (tab) that receives one row per event. Default: the first visible sheet. */
  sheetName?: string;
  /** The part of the spreadsheet's URL between /d/ and /edit. */
  spreadsheetId: string;
};

/** Properties of a new connector of the type `google-sheets`. */
export type CreateGoogleSheetsConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: GoogleSheetsConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'google-sheets';
};

/** Configuration for HubSpot connectors. */
export type HubspotConnectorConfig = {
  /** A service key or private app token with the crm.objects.contacts.write, crm.schemas.contacts.read, and crm.schemas.contacts.write scopes. */
  accessToken: string;
};

/** Properties of a new connector of the type `hubspot`. */
export type CreateHubspotConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: HubspotConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'hubspot';
};

/** Configuration for Linear connectors. */
export type LinearConnectorConfig = {
  /** A personal API key (lin_api_…) or an OAuth access token that can create issues. */
  apiKey: string;
  /** The UUID of the team to create issues in. To get it, use "Copy model UUID" in Linear's command menu. */
  teamId: string;
  /** An issue opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: 5. */
  upstreamFailureCount?: string;
  /** An issue opens only if the failures happen within this many minutes. Default: 5. */
  upstreamFailureMinutes?: string;
};

/** Properties of a new connector of the type `linear`. */
export type CreateLinearConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: LinearConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'linear';
};

/** Configuration for Make connectors. */
export type MakeConnectorConfig = {
  /** The URL of a custom webhook that starts a Make scenario. */
  webhookUrl: string;
};

/** Properties of a new connector of the type `make`. */
export type CreateMakeConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: MakeConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'make';
};

/** Configuration for Mixpanel connectors. */
export type MixpanelConnectorConfig = {
  /** In Mixpanel: Settings > Project Settings > Overview > Access Keys. */
  projectToken: string;
  /** The data residency of your Mixpanel project: us (default), eu, or in (India). Can be "us", "eu", or "in". */
  region?: 'us' | 'eu' | 'in';
};

/** Properties of a new connector of the type `mixpanel`. */
export type CreateMixpanelConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: MixpanelConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'mixpanel';
};

/** Configuration for n8n connectors. */
export type N8nConnectorConfig = {
  /** The header that the Webhook node checks (Header Auth). Default: Authorization. */
  authHeaderName?: string;
  /** The value of the authentication header. For Basic Auth: Basic, a space, and user:password in base64. */
  authHeaderValue?: string;
  /** A secret of your choice. If it is set, requests have an X-Event-Signature header with the HMAC-SHA256 of the body. */
  signingSecret?: string;
  /** The Production URL of a Webhook node in a published workflow. The node must accept POST. */
  webhookUrl: string;
};

/** Properties of a new connector of the type `n8n`. */
export type CreateN8nConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: N8nConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'n8n';
};

/** Configuration for Opsgenie connectors. */
export type OpsgenieConnectorConfig = {
  /** In Opsgenie: your team > Integrations > API. In Jira Service Management: Operations > your team > Integrations > API. */
  apiKey: string;
  /** us or eu for Opsgenie, jsm for Jira Service Management. If empty, all three are tried. Can be "us", "eu", or "jsm". */
  region?: 'us' | 'eu' | 'jsm';
  /** An alert opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: 5. */
  upstreamFailureCount?: string;
  /** An alert opens only if the failures happen within this many minutes. Default: 5. */
  upstreamFailureMinutes?: string;
};

/** Properties of a new connector of the type `opsgenie`. */
export type CreateOpsgenieConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: OpsgenieConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'opsgenie';
};

/** Configuration for PagerDuty connectors. */
export type PagerdutyConnectorConfig = {
  /** us (default), or eu if your PagerDuty account's address ends in eu.pagerduty.com. Can be "us" or "eu". */
  region?: 'us' | 'eu';
  /** In PagerDuty: your service > Integrations > Events API V2 > Integration Key. */
  routingKey: string;
  /** An alert opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: 5. */
  upstreamFailureCount?: string;
  /** An alert opens only if the failures happen within this many minutes. Default: 5. */
  upstreamFailureMinutes?: string;
};

/** Properties of a new connector of the type `pagerduty`. */
export type CreatePagerdutyConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: PagerdutyConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'pagerduty';
};

/** Configuration for QuickBooks Online connectors. */
export type QuickbooksConnectorConfig = {
  /** An OAuth 2.0 access token with the com.intuit.quickbooks.accounting scope. It expires after an hour, so we recommend using a client ID, a client secret, and a refresh token instead. */
  accessToken?: string;
  /** The client ID of your OAuth app. Use it with the client secret instead of an access token. */
  clientId?: string;
  /** The client secret of your OAuth app. */
  clientSecret?: string;
  /** The ID of the US dollar account that represents the wallet. Default: QuickBooks' Undeposited Funds. */
  depositAccountId?: string;
  /** Choose sandbox for a test company in an Intuit developer account. Default: production. Can be "production" or "sandbox". */
  environment?: 'production' | 'sandbox';
  /** Set when you connect an account in the console. */
  grant?: string;
  /** The ID of the service item to book revenue to. Default: the item named "x402 API revenue". */
  itemId?: string;
  /** Your company's realm ID, shown with the token and under Account and Settings > Billing. */
  realmId: string;
  /** The refresh token from your app's OAuth 2.0 playground. Intuit replaces it regularly, and it expires after five years. */
  refreshToken?: string;
  /** The tax code for the receipts: an ID, or TAX or NON in the US. Companies with VAT or GST require one. */
  taxCodeId?: string;
};

/** Properties of a new connector of the type `quickbooks`. */
export type CreateQuickbooksConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: QuickbooksConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'quickbooks';
};

/** Configuration for Resend connectors. */
export type ResendConnectorConfig = {
  /** A Resend API key with at least "Sending access". */
  apiKey: string;
  /** The sender. The address’s domain must be verified in Resend. */
  from: string;
  /** One or more recipients, as a list or separated by commas. They can see each other's addresses. */
  to: Array<string> | string;
};

/** Properties of a new connector of the type `resend`. */
export type CreateResendConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: ResendConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'resend';
};

/** Configuration for Salesforce connectors. */
export type SalesforceConnectorConfig = {
  /** An OAuth access token for a user who can create X402 events. It expires after 2 hours by default, so we recommend using a client ID and a client secret instead. */
  accessToken?: string;
  /** The client ID of your OAuth app. Use it with the client secret instead of an access token. */
  clientId?: string;
  /** The client secret of your OAuth app. */
  clientSecret?: string;
  /** Set when you connect an account in the console. */
  grant?: string;
  /** Your org's My Domain URL. */
  instanceUrl: string;
  /** Required only if the client credentials flow isn't enabled for your app. */
  refreshToken?: string;
};

/** Properties of a new connector of the type `salesforce`. */
export type CreateSalesforceConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: SalesforceConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'salesforce';
};

/** Configuration for Segment connectors. */
export type SegmentConnectorConfig = {
  /** The region of your workspace: us (default) or eu. If the region is wrong, Segment returns 200 but discards the event. Can be "us" or "eu". */
  region?: 'us' | 'eu';
  /** In Segment: Connections > Sources > your HTTP API source > Settings > API Keys. */
  writeKey: string;
};

/** Properties of a new connector of the type `segment`. */
export type CreateSegmentConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: SegmentConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'segment';
};

/** Configuration for Slack connectors. */
export type SlackConnectorConfig = {
  /** The URL of an incoming webhook in your Slack app. Anyone with this URL can post to the channel. */
  webhookUrl: string;
};

/** Properties of a new connector of the type `slack`. */
export type CreateSlackConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: SlackConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'slack';
};

/** Configuration for Supabase connectors. */
export type SupabaseConnectorConfig = {
  /** A secret key (sb_secret_…) or the legacy service_role key, from Project Settings > API Keys. */
  apiKey: string;
  /** The table in the public schema that receives one row per event. Default: payment_events. */
  table?: string;
  /** Your project's API URL, from Project Settings > Data API, or the URL of your own Supabase server. */
  url: string;
};

/** Properties of a new connector of the type `supabase`. */
export type CreateSupabaseConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: SupabaseConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'supabase';
};

/** Configuration for Microsoft Teams connectors. */
export type TeamsConnectorConfig = {
  /** Use message (default) with the workflow templates in Teams. Use card if you built the workflow yourself and it passes the body to "Post card". Can be "message" or "card". */
  envelope?: 'message' | 'card';
  /** The URL of a Teams workflow with the "When a Teams webhook request is received" trigger. */
  webhookUrl: string;
};

/** Properties of a new connector of the type `teams`. */
export type CreateTeamsConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: TeamsConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'teams';
};

/** Configuration for Telegram connectors. */
export type TelegramConnectorConfig = {
  /** The bot token from BotFather. The bot must be a member of the chat. */
  botToken: string;
  /** The chat's numeric ID (which starts with -100 for groups and channels), or a public chat's @name. */
  chatId: string | number;
  /** For a group with topics: the ID of the topic (message_thread_id). Default: the General topic. */
  messageThreadId?: string | number;
};

/** Properties of a new connector of the type `telegram`. */
export type CreateTelegramConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: TelegramConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'telegram';
};

/** Configuration for Twilio SMS connectors. */
export type TwilioConnectorConfig = {
  /** Your Twilio account's SID, even if you use an API key. */
  accountSid: string;
  /** The API key's secret. Twilio shows it only once. */
  apiKeySecret?: string;
  /** An API key's SID, to use the key instead of the auth token. */
  apiKeySid?: string;
  /** Your Twilio account's auth token. Required unless you enter an API key. */
  authToken?: string;
  /** A Twilio number, a short code, a sender name, or the SID of a messaging service. */
  from: string;
  /** The Twilio region of the account and its credentials: us1 (default) or ie1. Can be "us1" or "ie1". */
  region?: 'us1' | 'ie1';
  /** The mobile number that receives the SMS, with its country code. */
  to: string;
};

/** Properties of a new connector of the type `twilio`. */
export type CreateTwilioConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: TwilioConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'twilio';
};

/** Configuration for Xero connectors. */
export type XeroConnectorConfig = {
  /** An OAuth 2.0 access token with the accounting.invoices scope (accounting.transactions for older apps). It expires after 30 minutes, so we recommend using a client ID and a client secret instead. */
  accessToken?: string;
  /** The code of a bank account in US dollars that represents the wallet. If set, revenue is booked to this account as money received, without invoices. */
  bankAccountCode?: string;
  /** The client ID of your OAuth app. Use it with the client secret instead of an access token. */
  clientId?: string;
  /** The client secret of your OAuth app. */
  clientSecret?: string;
  /** Set when you connect an account in the console. */
  grant?: string;
  /** Required only if your app isn’t a custom connection. Xero replaces the token every time it is used. */
  refreshToken?: string;
  /** The code of the revenue account. Required together with a bank account code. */
  revenueAccountCode?: string;
  /** The organization's tenant ID, as listed by GET https://api.xero.com/connections. */
  tenantId: string;
};

/** Properties of a new connector of the type `xero`. */
export type CreateXeroConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: XeroConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'xero';
};

/** Configuration for Zapier connectors. */
export type ZapierConnectorConfig = {
  /** The webhook URL of a Zap with the Webhooks by Zapier > Catch Hook trigger. */
  webhookUrl: string;
};

/** Properties of a new connector of the type `zapier`. */
export type CreateZapierConnectorRequest = {
  /** The configuration. See `connectorTypes` for the fields of each type. */
  config: ZapierConnectorConfig;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** The service. */
  type: 'zapier';
};

/** Properties of the new connector. */
export type CreateConnectorRequest =
  | CreateAmplitudeConnectorRequest
  | CreateBigqueryConnectorRequest
  | CreateDatadogConnectorRequest
  | CreateDiscordConnectorRequest
  | CreateDuneConnectorRequest
  | CreateEmailConnectorRequest
  | CreateGa4ConnectorRequest
  | CreateGoogleSheetsConnectorRequest
  | CreateHubspotConnectorRequest
  | CreateLinearConnectorRequest
  | CreateMakeConnectorRequest
  | CreateMixpanelConnectorRequest
  | CreateN8nConnectorRequest
  | CreateOpsgenieConnectorRequest
  | CreatePagerdutyConnectorRequest
  | CreateQuickbooksConnectorRequest
  | CreateResendConnectorRequest
  | CreateSalesforceConnectorRequest
  | CreateSegmentConnectorRequest
  | CreateSlackConnectorRequest
  | CreateSupabaseConnectorRequest
  | CreateTeamsConnectorRequest
  | CreateTelegramConnectorRequest
  | CreateTwilioConnectorRequest
  | CreateXeroConnectorRequest
  | CreateZapierConnectorRequest;

/** Configuration for Amplitude connectors. Only the fields that change. */
export type AmplitudeConnectorConfigChanges = {
  /** In Amplitude: Settings > Organization settings > Projects > your project. Use the API key, not the secret key. */
  apiKey?: string;
  /** The data region of your Amplitude project: us (default) or eu. Can be "us" or "eu". */
  region?: 'us' | 'eu' | null;
};

/** Configuration for BigQuery connectors. Only the fields that change. */
export type BigqueryConnectorConfigChanges = {
  /** An OAuth access token with the bigquery.insertdata scope. It expires after about an hour, so we recommend using a service account key instead. */
  accessToken?: string | null;
  /** The dataset, without the project ID. */
  datasetId?: string;
  /** Set when you connect an account in the console. */
  grant?: string | null;
  /** The Google Cloud project that contains the dataset. */
  projectId?: string;
  /** The JSON key file of a service account that can insert rows into the table. Unlike an access token, the key doesn't expire. */
  serviceAccountKey?: string | null;
  /** The table that receives one row per event. Create it first with the SQL statement in the documentation. */
  tableId?: string;
};

/** Configuration for Datadog connectors. Only the fields that change. */
export type DatadogConnectorConfigChanges = {
  /** In Datadog: Organization Settings > API Keys. Use an API key, not an application key. */
  apiKey?: string;
  /** Your Datadog site, as in the address of the Datadog app. Default: datadoghq.com. Can be "datadoghq.com", "us3.datadoghq.com", "us5.datadoghq.com", "ap1.datadoghq.com", "ap2.datadoghq.com", "uk1.datadoghq.com", "datadoghq.eu", "ddog-gov.com", or "us2.ddog-gov.com". */
  site?:
    | 'datadoghq.com'
    | 'us3.datadoghq.com'
    | 'us5.datadoghq.com'
    | 'ap1.datadoghq.com'
    | 'ap2.datadoghq.com'
    | 'uk1.datadoghq.com'
    | 'datadoghq.eu'
    | 'ddog-gov.com'
    | 'us2.ddog-gov.com'
    | null;
};

/** Configuration for Discord connectors. Only the fields that change. */
export type DiscordConnectorConfigChanges = {
  /** The IDs of the tags for the posts that the connector creates. Some forum channels require a tag. */
  appliedTags?: Array<string> | null;
  /** The ID of a thread, or of a forum channel's post, to post to. Replaces thread_id in the URL. */
  threadId?: string | null;
  /** For a forum or media channel: creates a post with this name for every event, unless there is a thread ID. */
  threadName?: string | null;
  /** The URL of a channel webhook. Append `?thread_id=<id>` to post to a thread. */
  webhookUrl?: string;
};

/** Configuration for Dune connectors. Only the fields that change. */
export type DuneConnectorConfigChanges = {
  /** A Dune API key with the Read/Write scope. */
  apiKey?: string;
  /** Your Dune user or team handle. Detected automatically if your account has already uploaded a table. */
  namespace?: string | null;
  /** The table that receives one row per event. The table is created if it doesn't exist. Default: x402_events. */
  table?: string | null;
  /** Who can query the table. Takes effect when the table is created. Default: private, which some Dune plans don't offer. Can be "private" or "public". */
  visibility?: 'private' | 'public' | null;
};

/** Configuration for Email (SendGrid) connectors. Only the fields that change. */
export type EmailConnectorConfigChanges = {
  /** A SendGrid API key with the "Mail Send" permission. */
  apiKey?: string;
  /** The sender. The address or its domain must be verified in SendGrid. */
  from?: string;
  /** Choose eu for subusers in the EU region. Default: global. Can be "global" or "eu". */
  region?: 'global' | 'eu' | null;
  /** Each recipient gets a separate email. */
  to?: Array<string>;
};

/** Configuration for Google Analytics 4 connectors. Only the fields that change. */
export type Ga4ConnectorConfigChanges = {
  /** In Google Analytics: Admin > Data streams > your web stream > Measurement Protocol API secrets > Create. */
  apiSecret?: string;
  /** In Google Analytics: Admin > Data streams > your web stream. Use the measurement ID, not the stream ID. */
  measurementId?: string;
  /** Choose eu to collect the data in the European Union. Default: global. Can be "global" or "eu". */
  region?: 'global' | 'eu' | null;
};

/** Configuration for Google Sheets connectors. Only the fields that change. */
export type GoogleSheetsConnectorConfigChanges = {
  /** An OAuth access token with the spreadsheets scope. It expires after about an hour, so we recommend using a service account key instead. */
  accessToken?: string | null;
  /** Set when you connect an account in the console. */
  grant?: string | null;
  /** The JSON key file of a service account that can edit the spreadsheet. Unlike an access token, the key doesn't expire. */
  serviceAccountKey?: string | null;
  /** The sheet (tab) that receives one row per event. Default: the first visible sheet. */
  sheetName?: string | null;
  /** The part of the spreadsheet's URL between /d/ and /edit. */
  spreadsheetId?: string;
};

/** Configuration for HubSpot connectors. Only the fields that change. */
export type HubspotConnectorConfigChanges = {
  /** A service key or private app token with the crm.objects.contacts.write, crm.schemas.contacts.read, and crm.schemas.contacts.write scopes. */
  accessToken?: string;
};

/** Configuration for Linear connectors. Only the fields that change. */
export type LinearConnectorConfigChanges = {
  /** A personal API key (lin_api_…) or an OAuth access token that can create issues. */
  apiKey?: string;
  /** The UUID of the team to create issues in. To get it, use "Copy model UUID" in Linear's command menu. */
  teamId?: string;
  /** An issue opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: 5. */
  upstreamFailureCount?: string | null;
  /** An issue opens only if the failures happen within this many minutes. Default: 5. */
  upstreamFailureMinutes?: string | null;
};

/** Configuration for Make connectors. Only the fields that change. */
export type MakeConnectorConfigChanges = {
  /** The URL of a custom webhook that starts a Make scenario. */
  webhookUrl?: string;
};

/** Configuration for Mixpanel connectors. Only the fields that change. */
export type MixpanelConnectorConfigChanges = {
  /** In Mixpanel: Settings > Project Settings > Overview > Access Keys. */
  projectToken?: string;
  /** The data residency of your Mixpanel project: us (default), eu, or in (India). Can be "us", "eu", or "in". */
  region?: 'us' | 'eu' | 'in' | null;
};

/** Configuration for n8n connectors. Only the fields that change. */
export type N8nConnectorConfigChanges = {
  /** The header that the Webhook node checks (Header Auth). Default: Authorization. */
  authHeaderName?: string | null;
  /** The value of the authentication header. For Basic Auth: Basic, a space, and user:password in base64. */
  authHeaderValue?: string | null;
  /** A secret of your choice. If it is set, requests have an X-Event-Signature header with the HMAC-SHA256 of the body. */
  signingSecret?: string | null;
  /** The Production URL of a Webhook node in a published workflow. The node must accept POST. */
  webhookUrl?: string;
};

/** Configuration for Opsgenie connectors. Only the fields that change. */
export type OpsgenieConnectorConfigChanges = {
  /** In Opsgenie: your team > Integrations > API. In Jira Service Management: Operations > your team > Integrations > API. */
  apiKey?: string;
  /** us or eu for Opsgenie, jsm for Jira Service Management. If empty, all three are tried. Can be "us", "eu", or "jsm". */
  region?: 'us' | 'eu' | 'jsm' | null;
  /** An alert opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: 5. */
  upstreamFailureCount?: string | null;
  /** An alert opens only if the failures happen within this many minutes. Default: 5. */
  upstreamFailureMinutes?: string | null;
};

/** Configuration for PagerDuty connectors. Only the fields that change. */
export type PagerdutyConnectorConfigChanges = {
  /** us (default), or eu if your PagerDuty account's address ends in eu.pagerduty.com. Can be "us" or "eu". */
  region?: 'us' | 'eu' | null;
  /** In PagerDuty: your service > Integrations > Events API V2 > Integration Key. */
  routingKey?: string;
  /** An alert opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: 5. */
  upstreamFailureCount?: string | null;
  /** An alert opens only if the failures happen within this many minutes. Default: 5. */
  upstreamFailureMinutes?: string | null;
};

/** Configuration for QuickBooks Online connectors. Only the fields that change. */
export type QuickbooksConnectorConfigChanges = {
  /** An OAuth 2.0 access token with the com.intuit.quickbooks.accounting scope. It expires after an hour, so we recommend using a client ID, a client secret, and a refresh token instead. */
  accessToken?: string | null;
  /** The client ID of your OAuth app. Use it with the client secret instead of an access token. */
  clientId?: string | null;
  /** The client secret of your OAuth app. */
  clientSecret?: string | null;
  /** The ID of the US dollar account that represents the wallet. Default: QuickBooks' Undeposited Funds. */
  depositAccountId?: string | null;
  /** Choose sandbox for a test company in an Intuit developer account. Default: production. Can be "production" or "sandbox". */
  environment?: 'production' | 'sandbox' | null;
  /** Set when you connect an account in the console. */
  grant?: string | null;
  /** The ID of the service item to book revenue to. Default: the item named "x402 API revenue". */
  itemId?: string | null;
  /** Your company's realm ID, shown with the token and under Account and Settings > Billing. */
  realmId?: string;
  /** The refresh token from your app's OAuth 2.0 playground. Intuit replaces it regularly, and it expires after five years. */
  refreshToken?: string | null;
  /** The tax code for the receipts: an ID, or TAX or NON in the US. Companies with VAT or GST require one. */
  taxCodeId?: string | null;
};

/** Configuration for Resend connectors. Only the fields that change. */
export type ResendConnectorConfigChanges = {
  /** A Resend API key with at least "Sending access". */
  apiKey?: string;
  /** The sender. The address’s domain must be verified in Resend. */
  from?: string;
  /** One or more recipients, as a list or separated by commas. They can see each other's addresses. */
  to?: Array<string> | string;
};

/** Configuration for Salesforce connectors. Only the fields that change. */
export type SalesforceConnectorConfigChanges = {
  /** An OAuth access token for a user who can create X402 events. It expires after 2 hours by default, so we recommend using a client ID and a client secret instead. */
  accessToken?: string | null;
  /** The client ID of your OAuth app. Use it with the client secret instead of an access token. */
  clientId?: string | null;
  /** The client secret of your OAuth app. */
  clientSecret?: string | null;
  /** Set when you connect an account in the console. */
  grant?: string | null;
  /** Your org's My Domain URL. */
  instanceUrl?: string;
  /** Required only if the client credentials flow isn't enabled for your app. */
  refreshToken?: string | null;
};

/** Configuration for Segment connectors. Only the fields that change. */
export type SegmentConnectorConfigChanges = {
  /** The region of your workspace: us (default) or eu. If the region is wrong, Segment returns 200 but discards the event. Can be "us" or "eu". */
  region?: 'us' | 'eu' | null;
  /** In Segment: Connections > Sources > your HTTP API source > Settings > API Keys. */
  writeKey?: string;
};

/** Configuration for Slack connectors. Only the fields that change. */
export type SlackConnectorConfigChanges = {
  /** The URL of an incoming webhook in your Slack app. Anyone with this URL can post to the channel. */
  webhookUrl?: string;
};

/** Configuration for Supabase connectors. Only the fields that change. */
export type SupabaseConnectorConfigChanges = {
  /** A secret key (sb_secret_…) or the legacy service_role key, from Project Settings > API Keys. */
  apiKey?: string;
  /** The table in the public schema that receives one row per event. Default: payment_events. */
  table?: string | null;
  /** Your project's API URL, from Project Settings > Data API, or the URL of your own Supabase server. */
  url?: string;
};

/** Configuration for Microsoft Teams connectors. Only the fields that change. */
export type TeamsConnectorConfigChanges = {
  /** Use message (default) with the workflow templates in Teams. Use card if you built the workflow yourself and it passes the body to "Post card". Can be "message" or "card". */
  envelope?: 'message' | 'card' | null;
  /** The URL of a Teams workflow with the "When a Teams webhook request is received" trigger. */
  webhookUrl?: string;
};

/** Configuration for Telegram connectors. Only the fields that change. */
export type TelegramConnectorConfigChanges = {
  /** The bot token from BotFather. The bot must be a member of the chat. */
  botToken?: string;
  /** The chat's numeric ID (which starts with -100 for groups and channels), or a public chat's @name. */
  chatId?: string | number;
  /** For a group with topics: the ID of the topic (message_thread_id). Default: the General topic. */
  messageThreadId?: string | number | null;
};

/** Configuration for Twilio SMS connectors. Only the fields that change. */
export type TwilioConnectorConfigChanges = {
  /** Your Twilio account's SID, even if you use an API key. */
  accountSid?: string;
  /** The API key's secret. Twilio shows it only once. */
  apiKeySecret?: string | null;
  /** An API key's SID, to use the key instead of the auth token. */
  apiKeySid?: string | null;
  /** Your Twilio account's auth token. Required unless you enter an API key. */
  authToken?: string | null;
  /** A Twilio number, a short code, a sender name, or the SID of a messaging service. */
  from?: string;
  /** The Twilio region of the account and its credentials: us1 (default) or ie1. Can be "us1" or "ie1". */
  region?: 'us1' | 'ie1' | null;
  /** The mobile number that receives the SMS, with its country code. */
  to?: string;
};

/** Configuration for Xero connectors. Only the fields that change. */
export type XeroConnectorConfigChanges = {
  /** An OAuth 2.0 access token with the accounting.invoices scope (accounting.transactions for older apps). It expires after 30 minutes, so we recommend using a client ID and a client secret instead. */
  accessToken?: string | null;
  /** The code of a bank account in US dollars that represents the wallet. If set, revenue is booked to this account as money received, without invoices. */
  bankAccountCode?: string | null;
  /** The client ID of your OAuth app. Use it with the client secret instead of an access token. */
  clientId?: string | null;
  /** The client secret of your OAuth app. */
  clientSecret?: string | null;
  /** Set when you connect an account in the console. */
  grant?: string | null;
  /** Required only if your app isn’t a custom connection. Xero replaces the token every time it is used. */
  refreshToken?: string | null;
  /** The code of the revenue account. Required together with a bank account code. */
  revenueAccountCode?: string | null;
  /** The organization's tenant ID, as listed by GET https://api.xero.com/connections. */
  tenantId?: string;
};

/** Configuration for Zapier connectors. Only the fields that change. */
export type ZapierConnectorConfigChanges = {
  /** The webhook URL of a Zap with the Webhooks by Zapier > Catch Hook trigger. */
  webhookUrl?: string;
};

/** Changes to a connector. Omitted fields stay unchanged. */
export type UpdateConnectorRequest = {
  /** The config fields to change. Omitted fields, and masked secrets that you send back, stay unchanged. Set a field to null to remove it. To change where events are sent, send every secret again. */
  config?:
    | AmplitudeConnectorConfigChanges
    | BigqueryConnectorConfigChanges
    | DatadogConnectorConfigChanges
    | DiscordConnectorConfigChanges
    | DuneConnectorConfigChanges
    | EmailConnectorConfigChanges
    | Ga4ConnectorConfigChanges
    | GoogleSheetsConnectorConfigChanges
    | HubspotConnectorConfigChanges
    | LinearConnectorConfigChanges
    | MakeConnectorConfigChanges
    | MixpanelConnectorConfigChanges
    | N8nConnectorConfigChanges
    | OpsgenieConnectorConfigChanges
    | PagerdutyConnectorConfigChanges
    | QuickbooksConnectorConfigChanges
    | ResendConnectorConfigChanges
    | SalesforceConnectorConfigChanges
    | SegmentConnectorConfigChanges
    | SlackConnectorConfigChanges
    | SupabaseConnectorConfigChanges
    | TeamsConnectorConfigChanges
    | TelegramConnectorConfigChanges
    | TwilioConnectorConfigChanges
    | XeroConnectorConfigChanges
    | ZapierConnectorConfigChanges;
  /** The event types to subscribe to. */
  eventTypes?: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Set to null to send all events. */
  filter?: EventContentFilter | null;
  /** Whether events are sent. While this is false, events are skipped and aren’t delivered later. Setting this to true also clears the reason the destination was disabled or paused. */
  isActive?: boolean;
  /** Whether deliveries are held. While this is true, only test events are sent. Setting this to false sends the held deliveries. If you paused deliveries yourself, this is the only way to resume them. */
  isPaused?: boolean;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Set to null to remove the limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters. Set to null to remove the name. */
  name?: string | null;
};

/** An event type. */
export type EventType =
  | 'customer.first_payment'
  | 'customer.milestone'
  | 'endpoint.created'
  | 'endpoint.pricing_changed'
  | 'payment.failed'
  | 'payment.settled'
  | 'payment.verified'
  | 'revenue.daily_summary';

/** The status of a delivery. */
export type DeliveryStatus = 'FAILED' | 'PENDING' | 'RUNNING' | 'SKIPPED' | 'SUCCEEDED';

/** Something that happened in a project. */
export type Event = {
  [Type in EventType]: {
    /** Identifier, `evt_…`; also the `webhook-id` of the event’s deliveries. */
    id: string;
    /** The project that the event happened in. */
    projectId: string;
    /** The version of the payload. */
    version: number;
    /** Whether the event is a test event that someone sent manually. */
    test: boolean;
    /** When the event happened. */
    timestamp: string;
    /** IDs of the webhooks and connectors that subscribe to this event type but whose filters exclude this event. They get no delivery. */
    filteredOut: Array<string>;
    /** What happened. */
    type: Type;
    /** The payload, as delivered. Its fields depend on the event type. */
    data: EventDataByType[Type];
  };
}[EventType];

/** How a webhook’s deliveries are ordered. */
export type WebhookOrdering = 'NONE' | 'PAYMENT';

/** A header that is added to a webhook’s requests. */
export type WebhookHeader = {
  /** The name of the header. */
  name: string;
  /** The header’s value, masked as `••••` followed by at most its last four characters. */
  value: string;
};

/** How a webhook’s requests are authenticated, in addition to their signature. */
export type WebhookAuthenticationType = 'BASIC' | 'BEARER' | 'OAUTH2_CLIENT_CREDENTIALS';

/** How a webhook’s requests are authenticated, in addition to their signature. */
export type WebhookAuthentication = {
  /** The type of authentication. */
  type: WebhookAuthenticationType;
  /** The user name. Returned only for `BASIC`. */
  username: string | null;
  /** The password, masked as `••••` followed by at most its last four characters. Returned only for `BASIC`. */
  password: string | null;
  /** The token, masked as `••••` followed by at most its last four characters. Returned only for `BEARER`. */
  token: string | null;
  /** The URL that issues access tokens. The URL’s secrets are masked for API keys and for the role `VIEWER`. Returned only for `OAUTH2_CLIENT_CREDENTIALS`. */
  tokenUrl: string | null;
  /** The client ID. Returned only for `OAUTH2_CLIENT_CREDENTIALS`. */
  clientId: string | null;
  /** The client secret, masked as `••••` followed by at most its last four characters. Returned only for `OAUTH2_CLIENT_CREDENTIALS`. */
  clientSecret: string | null;
  /** The scopes to request, separated by spaces. Returned only for `OAUTH2_CLIENT_CREDENTIALS`. */
  scope: string | null;
};

/** The certificate with which Tollgate identifies itself to a webhook’s server (mutual TLS). */
export type WebhookClientCertificate = {
  /** The certificate, and the certificates between it and its authority, in PEM format. */
  certificate: string;
  /** When the certificate expires. */
  expiresAt: string;
  /** The private key, always masked as `••••`. */
  privateKey: string;
};

/** When failed deliveries are retried. */
export type RetrySchedule = 'LONG' | 'NONE' | 'SHORT' | 'STANDARD';

/** An HTTPS URL on your server that receives events as signed POST requests (Standard Webhooks). */
export type Webhook = {
  /** Identifier, `wh_…`. */
  id: string;
  /** The project that the destination belongs to. */
  projectId: string;
  /** The destination’s name; null if it has none. */
  name: string | null;
  /** Where events are sent. Its secrets are masked for API keys and for the role `VIEWER`. */
  url: string;
  /** Free-text description. */
  description: string | null;
  /** The subscribed event types. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events; null sends all events. No delivery is created for events that don’t match. Those events list this destination in `filteredOut`, and `deliveryStats` counts them. */
  filter: EventContentFilter | null;
  /** The payload version that the webhook receives. */
  payloadVersion: number;
  /** How deliveries are ordered. */
  ordering: WebhookOrdering;
  /** The number of failed attempts after which later deliveries are sent anyway. Applies only to ordered deliveries. */
  orderingEscapeAfterAttempts: number;
  /** The webhook’s custom headers, in addition to the headers that Tollgate sets. */
  headers: Array<WebhookHeader>;
  /** How requests are authenticated, in addition to being signed; null if they are only signed. */
  authentication: WebhookAuthentication | null;
  /** The certificate with which Tollgate identifies itself to the server (mutual TLS). */
  clientCertificate: WebhookClientCertificate | null;
  /** The only authority that is trusted to certify the server, in PEM format; null if public authorities are trusted. */
  certificateAuthority: string | null;
  /** Time limit for a request, including its complete response, in seconds. */
  timeoutSeconds: number;
  /** When failed deliveries are retried. */
  retrySchedule: RetrySchedule;
  /** Whether events are sent. While this is false, events are skipped. */
  isActive: boolean;
  /** Why Tollgate disabled the destination: `gone` (it responded with 410) or `failing` (five days without a success). Null if the destination is active or you disabled it. */
  disabledReason: string | null;
  /** When the destination was disabled; null while it is active. */
  disabledAt: string | null;
  /** Whether deliveries are held. While this is true, deliveries wait. They are sent once this is false. */
  isPaused: boolean;
  /** Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that were rejected for the same reason. Null if they aren’t paused or you paused them. */
  pausedReason: string | null;
  /** When deliveries were paused; null if they aren’t paused. */
  pausedAt: string | null;
  /** When the current run of failures started; null if the last delivery succeeded. */
  failingSince: string | null;
  /** After several failures in a row, deliveries wait until this time, except those you resend manually. */
  circuitOpenUntil: string | null;
  /** Rate limit in requests per second, for example, 0.5; null for no limit. Connectors always stay within their vendor’s limit. */
  maxPerSecond: number | null;
  /** Until this time, requests are also signed with the previous secret. */
  previousSecretExpiresAt: string | null;
  /** When the destination was created. */
  createdAt: string;
  /** When the destination was last changed. */
  updatedAt: string;
};

/** What caused an attempt. */
export type AttemptTrigger = 'MANUAL' | 'SCHEDULED';

/** An attempt to send a delivery. */
export type Attempt = {
  /** Identifier, `att_…`. */
  id: string;
  /** The attempt’s number, starting at 1. Resends continue the numbering. */
  number: number;
  /** What triggered the attempt. */
  trigger: AttemptTrigger;
  /** When the request was sent. */
  startedAt: string;
  /** Total duration in milliseconds. */
  durationMs: number;
  /** Time to resolve the host name, in milliseconds; null if the connection was already open. */
  dnsMs: number | null;
  /** Time to open the TCP connection, in milliseconds; null if the connection was already open. */
  connectMs: number | null;
  /** Duration of the TLS handshake in milliseconds; null if there was none. */
  tlsMs: number | null;
  /** Time from the request to the first byte of the response, in milliseconds. */
  firstByteMs: number | null;
  /** HTTP method of the request. */
  requestMethod: string | null;
  /** URL of the request, with secrets masked. */
  requestUrl: string | null;
  /** Request headers with lowercase names and masked credentials. Connection headers are omitted. */
  requestHeaders: unknown;
  /** HTTP status of the response, if there was one. */
  statusCode: number | null;
  /** Stable error code, such as `timeout` or `connection_refused`. */
  errorClass: string | null;
  /** The error in plain language. */
  errorMessage: string | null;
  /** Response headers with lowercase names, up to about 4 KB. Cookies are omitted. */
  responseHeaders: unknown;
  /** The beginning of the response body. */
  responseBody: string | null;
  /** Whether the request and the response weren’t stored because the account had reached its daily limit. The fields for them are null. */
  isContentOmitted: boolean;
};

/** One event sent to one webhook or connector. */
export type Delivery = {
  /** Identifier, `dlv_…`. */
  id: string;
  /** The project that the delivery belongs to. */
  projectId: string;
  /** The webhook that the event is sent to, if any. */
  webhookId: string | null;
  /** The connector that the event is sent to, if any. */
  connectorId: string | null;
  /** The event being delivered. */
  eventId: string;
  /** Type of the event. */
  eventType: EventType;
  /** Status of the delivery. */
  status: DeliveryStatus;
  /** Why the delivery failed, was skipped, or is held. */
  reason: string | null;
  /** HTTP status of the last response. */
  statusCode: number | null;
  /** Duration of the last attempt in milliseconds. */
  responseTimeMs: number | null;
  /** Stable error code for the last failure. */
  errorClass: string | null;
  /** Number of attempts so far. */
  attemptCount: number;
  /** Number of attempts after the first one. */
  retryCount: number;
  /** Time of the next attempt; null if the delivery is finished or held. */
  nextAttemptAt: string | null;
  /** When the delivery was created. */
  createdAt: string;
  /** When the delivery last changed. */
  updatedAt: string;
  /** When the delivery succeeded, failed, or was skipped. */
  completedAt: string | null;
  /** The event being delivered. Returned only with `expand=event`. */
  event?: Event;
  /** The webhook that the event is sent to, if any. Returned only with `expand=webhook`. */
  webhook?: Webhook | null;
  /** The connector that the event is sent to, if any. Returned only with `expand=connector`. */
  connector?: Connector | null;
  /** The last attempts, oldest first. Returned only with `expand=attempts`. */
  attempts?: Array<Attempt>;
};

/** A page of a list. */
export type DeliveryList = {
  data: Array<Delivery>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The connector to test. */
export type TestConnectorRequest = {
  /** If set, sends a test event of this type even if the credentials can be checked without one. */
  eventType?: EventType | null;
};

/** The result of checking the credentials. */
export type ConnectorProbeResult = {
  /** Whether the credentials work. */
  ok: boolean;
  /** The result in plain language. */
  message: string;
};

/** The result of `testConnector`: either a probe or a delivery. */
export type TestConnectorResponse = {
  /** The result of the check, if there was one. */
  probe: ConnectorProbeResult | null;
  /** The delivery of the test event, if one was sent. */
  delivery: Delivery | null;
};

/** The category of a connector type. */
export type ConnectorCategory =
  | 'Accounting'
  | 'Analytics'
  | 'Automation'
  | 'Communication'
  | 'CRM'
  | 'Data'
  | 'Monitoring'
  | 'Project Management';

/** A vendor’s rate limit: at most `count` requests in any `perSeconds` seconds. */
export type ConnectorTypeLimit = {
  /** The maximum number of requests. */
  count: number;
  /** The length of the time window, in seconds. */
  perSeconds: number;
  /** How many requests Tollgate can send in one burst after an idle period. */
  burst: number;
  /** The vendor’s documentation on the limit. */
  documentationUrl: string;
};

/** A field in a connector type’s config. */
export type ConnectorTypeField = {
  /** The name of the field in `config`. */
  name: string;
  /** The label of the field. */
  title: string;
  /** What to enter in the field. */
  description: string;
  /** `text`, `list` (of strings), or `choice`. */
  kind: string;
  /** Whether the field is required. */
  required: boolean;
  /** Whether the field is write-only (a secret). */
  secret: boolean;
  /** Whether the field determines where events are sent. If you change it, send every secret in the config again. */
  decidesAddress: boolean;
  /** The allowed values of a `choice` field. */
  choices: Array<string>;
  /** An example value. */
  example: string | null;
};

/** A connector type and its config fields. */
export type ConnectorTypeInfo = {
  /** The connector type. */
  type: ConnectorType;
  /** The name of the service. */
  title: string;
  /** The category of the service. */
  category: ConnectorCategory;
  /** What the connector does. */
  description: string;
  /** The vendor’s documentation on how to get credentials. */
  documentationUrl: string;
  /** The event types that the service can receive. */
  eventTypes: Array<EventType>;
  /** Whether the credentials can be verified without sending anything. */
  canProbe: boolean;
  /** The vendor’s documented rate limit, which each connector stays within; null if none is known. */
  vendorLimit: ConnectorTypeLimit | null;
  /** The config fields, in display order. */
  fields: Array<ConnectorTypeField>;
};

/** The whole list. */
export type ConnectorTypeInfoList = {
  data: Array<ConnectorTypeInfo>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** A page of a list. */
export type WebhookList = {
  data: Array<Webhook>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** How to authenticate a webhook’s requests. Send the fields of the chosen type. When you change the webhook and keep the type, omitted fields and masked secrets that you send back stay unchanged. */
export type WebhookAuthenticationInput = {
  /** The client ID. Used only with `OAUTH2_CLIENT_CREDENTIALS`. */
  clientId?: string | null;
  /** The client secret. Used only with `OAUTH2_CLIENT_CREDENTIALS`. */
  clientSecret?: string | null;
  /** The password. Used only with `BASIC`. */
  password?: string | null;
  /** The scopes to request, separated by spaces. Optional. Used only with `OAUTH2_CLIENT_CREDENTIALS`. */
  scope?: string | null;
  /** The token. Used only with `BEARER`. */
  token?: string | null;
  /** HTTPS URL to get access tokens from. If you change the URL, send the client secret again. Used only with `OAUTH2_CLIENT_CREDENTIALS`. */
  tokenUrl?: string | null;
  /** The type of authentication. */
  type: WebhookAuthenticationType;
  /** The user name, without a colon. Used only with `BASIC`. */
  username?: string | null;
};

/** The certificate with which Tollgate identifies itself to a webhook’s server (mutual TLS). */
export type WebhookClientCertificateInput = {
  /** The certificate, and the certificates between it and its authority, in PEM format. */
  certificate: string;
  /** The certificate’s private key in PEM format, without a passphrase. If it is omitted or masked, the stored key stays unchanged. */
  privateKey?: string | null;
};

/** A header to add to a webhook’s requests. */
export type WebhookHeaderInput = {
  /** The name of the header. Some names aren’t allowed. */
  name: string;
  /** The header’s value: visible ASCII characters. A masked value that you send back stays unchanged. */
  value: string;
};

/** Properties of the new webhook. */
export type CreateWebhookRequest = {
  /** How to authenticate requests, in addition to signing them. */
  authentication?: WebhookAuthenticationInput | null;
  /** If your server’s certificate comes from a private authority: the authority’s certificate, in PEM format. Tollgate then trusts only this authority for the webhook. */
  certificateAuthority?: string | null;
  /** For servers that require a client certificate (mutual TLS). */
  clientCertificate?: WebhookClientCertificateInput | null;
  /** Free-text description, up to 1,000 characters. */
  description?: string | null;
  /** The event types to subscribe to. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Omit this field to send all events. */
  filter?: EventContentFilter | null;
  /** Headers to add to requests. Up to 20 headers, totaling up to 8,192 bytes. */
  headers?: Array<WebhookHeaderInput> | null;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Omit this field for no limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique. */
  name?: string | null;
  /** How deliveries are ordered. Default: `NONE`. */
  ordering?: WebhookOrdering | null;
  /** The number of failed attempts (1 to 100) after which later deliveries are sent anyway. Applies only to ordered deliveries. Default: 4. */
  orderingEscapeAfterAttempts?: number | null;
  /** The payload version to send. Default: the newest. */
  payloadVersion?: number | null;
  /** When failed deliveries are retried. Default: `STANDARD`. */
  retrySchedule?: RetrySchedule | null;
  /** Time limit for a request, including its complete response: 1 to 30 seconds. Default: 15. */
  timeoutSeconds?: number | null;
  /** HTTPS URL to send events to. */
  url: string;
};

/** An HTTPS URL on your server that receives events as signed POST requests (Standard Webhooks). */
export type CreateWebhookResponse = {
  /** Identifier, `wh_…`. */
  id: string;
  /** The project that the destination belongs to. */
  projectId: string;
  /** The destination’s name; null if it has none. */
  name: string | null;
  /** Where events are sent. Its secrets are masked for API keys and for the role `VIEWER`. */
  url: string;
  /** Free-text description. */
  description: string | null;
  /** The subscribed event types. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events; null sends all events. No delivery is created for events that don’t match. Those events list this destination in `filteredOut`, and `deliveryStats` counts them. */
  filter: EventContentFilter | null;
  /** The payload version that the webhook receives. */
  payloadVersion: number;
  /** How deliveries are ordered. */
  ordering: WebhookOrdering;
  /** The number of failed attempts after which later deliveries are sent anyway. Applies only to ordered deliveries. */
  orderingEscapeAfterAttempts: number;
  /** The webhook’s custom headers, in addition to the headers that Tollgate sets. */
  headers: Array<WebhookHeader>;
  /** How requests are authenticated, in addition to being signed; null if they are only signed. */
  authentication: WebhookAuthentication | null;
  /** The certificate with which Tollgate identifies itself to the server (mutual TLS). */
  clientCertificate: WebhookClientCertificate | null;
  /** The only authority that is trusted to certify the server, in PEM format; null if public authorities are trusted. */
  certificateAuthority: string | null;
  /** Time limit for a request, including its complete response, in seconds. */
  timeoutSeconds: number;
  /** When failed deliveries are retried. */
  retrySchedule: RetrySchedule;
  /** Whether events are sent. While this is false, events are skipped. */
  isActive: boolean;
  /** Why Tollgate disabled the destination: `gone` (it responded with 410) or `failing` (five days without a success). Null if the destination is active or you disabled it. */
  disabledReason: string | null;
  /** When the destination was disabled; null while it is active. */
  disabledAt: string | null;
  /** Whether deliveries are held. While this is true, deliveries wait. They are sent once this is false. */
  isPaused: boolean;
  /** Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that were rejected for the same reason. Null if they aren’t paused or you paused them. */
  pausedReason: string | null;
  /** When deliveries were paused; null if they aren’t paused. */
  pausedAt: string | null;
  /** When the current run of failures started; null if the last delivery succeeded. */
  failingSince: string | null;
  /** After several failures in a row, deliveries wait until this time, except those you resend manually. */
  circuitOpenUntil: string | null;
  /** Rate limit in requests per second, for example, 0.5; null for no limit. Connectors always stay within their vendor’s limit. */
  maxPerSecond: number | null;
  /** Until this time, requests are also signed with the previous secret. */
  previousSecretExpiresAt: string | null;
  /** When the destination was created. */
  createdAt: string;
  /** When the destination was last changed. */
  updatedAt: string;
  /** The signing secret, `whsec_…`. Shown only once. */
  secret: string;
};

/** Changes to a webhook. Omitted fields stay unchanged. */
export type UpdateWebhookRequest = {
  /** How to authenticate requests, in addition to signing them. Set to null to remove the authentication. If you change the webhook’s URL, send the authentication secrets again. */
  authentication?: WebhookAuthenticationInput | null;
  /** The certificate of a private authority, in PEM format. Tollgate then trusts only this authority for the webhook. Set to null to trust public authorities. */
  certificateAuthority?: string | null;
  /** For servers that require a client certificate (mutual TLS). Set to null to remove it. If you change the webhook’s URL, send the private key again. */
  clientCertificate?: WebhookClientCertificateInput | null;
  /** Free-text description, up to 1,000 characters. Set to null to remove it. */
  description?: string | null;
  /** The event types to subscribe to. */
  eventTypes?: Array<EventTypeFilter>;
  /** A filter on the contents of events, for example, `{"data.amountUsd": {"gte": "1.00"}}`. Set to null to send all events. */
  filter?: EventContentFilter | null;
  /** Headers to add to requests. Up to 20 headers, totaling up to 8,192 bytes. Replaces the whole list. Set to null to remove all headers. Masked values that you send back stay unchanged. If you change the URL, send every value again. */
  headers?: Array<WebhookHeaderInput> | null;
  /** Whether events are sent. While this is false, events are skipped and aren’t delivered later. Setting this to true also clears the reason the destination was disabled or paused. */
  isActive?: boolean;
  /** Whether deliveries are held. While this is true, only test events are sent. Setting this to false sends the held deliveries. If you paused deliveries yourself, this is the only way to resume them. */
  isPaused?: boolean;
  /** Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always stay within their vendor’s limit, so a higher rate has no effect. Set to null to remove the limit. */
  maxPerSecond?: number | null;
  /** A name of your choice, 1 to 60 characters. Set to null to remove the name. */
  name?: string | null;
  /** How deliveries are ordered. */
  ordering?: WebhookOrdering | null;
  /** The number of failed attempts (1 to 100) after which later deliveries are sent anyway. Applies only to ordered deliveries. */
  orderingEscapeAfterAttempts?: number | null;
  /** The payload version to send. */
  payloadVersion?: number | null;
  /** When failed deliveries are retried. Deliveries that are already waiting switch to the new schedule after their next failure. */
  retrySchedule?: RetrySchedule | null;
  /** Time limit for a request, including its complete response: 1 to 30 seconds. */
  timeoutSeconds?: number | null;
  /** HTTPS URL to send events to. */
  url?: string;
};

/** The webhook that gets a new signing secret, and how long requests are also signed with the old one. */
export type RotateWebhookSecretRequest = {
  /** How many hours (0 to 168) requests are also signed with the old secret. Default: 24. */
  overlapHours?: number | null;
};

/** An HTTPS URL on your server that receives events as signed POST requests (Standard Webhooks). */
export type RotateWebhookSecretResponse = {
  /** Identifier, `wh_…`. */
  id: string;
  /** The project that the destination belongs to. */
  projectId: string;
  /** The destination’s name; null if it has none. */
  name: string | null;
  /** Where events are sent. Its secrets are masked for API keys and for the role `VIEWER`. */
  url: string;
  /** Free-text description. */
  description: string | null;
  /** The subscribed event types. */
  eventTypes: Array<EventTypeFilter>;
  /** A filter on the contents of events; null sends all events. No delivery is created for events that don’t match. Those events list this destination in `filteredOut`, and `deliveryStats` counts them. */
  filter: EventContentFilter | null;
  /** The payload version that the webhook receives. */
  payloadVersion: number;
  /** How deliveries are ordered. */
  ordering: WebhookOrdering;
  /** The number of failed attempts after which later deliveries are sent anyway. Applies only to ordered deliveries. */
  orderingEscapeAfterAttempts: number;
  /** The webhook’s custom headers, in addition to the headers that Tollgate sets. */
  headers: Array<WebhookHeader>;
  /** How requests are authenticated, in addition to being signed; null if they are only signed. */
  authentication: WebhookAuthentication | null;
  /** The certificate with which Tollgate identifies itself to the server (mutual TLS). */
  clientCertificate: WebhookClientCertificate | null;
  /** The only authority that is trusted to certify the server, in PEM format; null if public authorities are trusted. */
  certificateAuthority: string | null;
  /** Time limit for a request, including its complete response, in seconds. */
  timeoutSeconds: number;
  /** When failed deliveries are retried. */
  retrySchedule: RetrySchedule;
  /** Whether events are sent. While this is false, events are skipped. */
  isActive: boolean;
  /** Why Tollgate disabled the destination: `gone` (it responded with 410) or `failing` (five days without a success). Null if the destination is active or you disabled it. */
  disabledReason: string | null;
  /** When the destination was disabled; null while it is active. */
  disabledAt: string | null;
  /** Whether deliveries are held. While this is true, deliveries wait. They are sent once this is false. */
  isPaused: boolean;
  /** Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that were rejected for the same reason. Null if they aren’t paused or you paused them. */
  pausedReason: string | null;
  /** When deliveries were paused; null if they aren’t paused. */
  pausedAt: string | null;
  /** When the current run of failures started; null if the last delivery succeeded. */
  failingSince: string | null;
  /** After several failures in a row, deliveries wait until this time, except those you resend manually. */
  circuitOpenUntil: string | null;
  /** Rate limit in requests per second, for example, 0.5; null for no limit. Connectors always stay within their vendor’s limit. */
  maxPerSecond: number | null;
  /** Until this time, requests are also signed with the previous secret. */
  previousSecretExpiresAt: string | null;
  /** When the destination was created. */
  createdAt: string;
  /** When the destination was last changed. */
  updatedAt: string;
  /** The new signing secret. Shown only once. */
  secret: string;
};

/** The webhook to test. */
export type SendWebhookTestEventRequest = {
  /** Type of the test event. Default: the first event type that the webhook is subscribed to. */
  eventType?: EventType | null;
};

/** One event sent to one webhook or connector. */
export type DeliveryWithAttempts = {
  /** Identifier, `dlv_…`. */
  id: string;
  /** The project that the delivery belongs to. */
  projectId: string;
  /** The webhook that the event is sent to, if any. */
  webhookId: string | null;
  /** The connector that the event is sent to, if any. */
  connectorId: string | null;
  /** The event being delivered. */
  eventId: string;
  /** Type of the event. */
  eventType: EventType;
  /** Status of the delivery. */
  status: DeliveryStatus;
  /** Why the delivery failed, was skipped, or is held. */
  reason: string | null;
  /** HTTP status of the last response. */
  statusCode: number | null;
  /** Duration of the last attempt in milliseconds. */
  responseTimeMs: number | null;
  /** Stable error code for the last failure. */
  errorClass: string | null;
  /** Number of attempts so far. */
  attemptCount: number;
  /** Number of attempts after the first one. */
  retryCount: number;
  /** Time of the next attempt; null if the delivery is finished or held. */
  nextAttemptAt: string | null;
  /** When the delivery was created. */
  createdAt: string;
  /** When the delivery last changed. */
  updatedAt: string;
  /** When the delivery succeeded, failed, or was skipped. */
  completedAt: string | null;
  /** The event being delivered. Returned only with `expand=event`. */
  event?: Event;
  /** The webhook that the event is sent to, if any. Returned only with `expand=webhook`. */
  webhook?: Webhook | null;
  /** The connector that the event is sent to, if any. Returned only with `expand=connector`. */
  connector?: Connector | null;
  /** The last attempts, oldest first. */
  attempts: Array<Attempt>;
};

/** A remaining attempt, assuming that all earlier ones fail. */
export type RemainingTry = {
  /** Seconds after the previous failure, ±20%; null for the next attempt. */
  afterSeconds: number | null;
  /** Approximate time; null while the delivery is held. */
  expectedAt: string | null;
};

/** A phase of an attempt. */
export type DeliveryPhase = 'connect' | 'dns' | 'first_byte' | 'other' | 'tls';

/** The current status of a delivery’s webhook or connector. */
export type DestinationState = {
  /** The webhook (`wh_…`) or connector (`con_…`). */
  id: string;
  /** `webhook`, or the name of the connector’s service. */
  title: string;
  /** Whether the destination receives events. */
  isActive: boolean;
  /** Why Tollgate disabled the destination, if it did. */
  disabledReason: string | null;
  /** When the destination was disabled. */
  disabledAt: string | null;
  /** Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that were rejected for the same reason. Null if you paused them. */
  pausedReason: string | null;
  /** When the destination was paused. */
  pausedAt: string | null;
  /** When the current run of failures began. */
  failingSince: string | null;
  /** Whether attempts are spaced up to a minute apart because several deliveries in a row have failed. */
  isSlowedDown: boolean;
};

/** A shell variable that a command needs. */
export type CurlVariable = {
  /** The variable’s name, for example, `WEBHOOK_SECRET`. */
  name: string;
  /** What to set the variable to. */
  description: string;
};

/** An explanation of a delivery’s current status and what happens next. */
export type DeliveryExplanation = {
  /** The delivery. */
  deliveryId: string;
  /** The status of the delivery. */
  status: DeliveryStatus;
  /** The reason in plain language. */
  summary: string;
  /** What happens next, and when. */
  next: string;
  /** What you can do about the status; null if there is nothing to do. */
  advice: string | null;
  /** The remaining attempts, assuming all of them fail. */
  remainingTries: Array<RemainingTry>;
  /** The last attempt, with the duration of each phase. */
  lastAttempt: Attempt | null;
  /** The slowest phase of the last attempt. */
  slowestPhase: DeliveryPhase | null;
  /** Duration of the slowest phase in milliseconds. */
  slowestPhaseMs: number | null;
  /** The current status of the delivery’s webhook or connector. */
  destination: DestinationState;
  /** The body of the request, byte for byte, with secrets masked. For a connector, this is the first request that Tollgate would send for this event alone with the current settings. Null if the body can’t be shown. */
  requestBody: string | null;
  /** Shell commands that send the request again, with secrets as variables; null if the commands cannot be shown safely. */
  curl: string | null;
  /** The variables that `curl` needs. */
  curlVariables: Array<CurlVariable>;
};

/** The delivery to resend. */
export type ResendDeliveryRequest = Record<string, unknown>;

/** The status of a replay. */
export type ReplayStatus = 'CANCELED' | 'COMPLETED' | 'RUNNING';

/** Resends all deliveries that match a filter. */
export type Replay = {
  /** Identifier, `rpl_…`. */
  id: string;
  /** The project that the replay belongs to. */
  projectId: string;
  /** Status of the replay. */
  status: ReplayStatus;
  /** The filter, as you set it. */
  filter: unknown;
  /** Maximum number of deliveries queued per second. */
  maxPerSecond: number;
  /** Number of matching deliveries when the replay started. */
  total: number;
  /** Number of deliveries queued so far. */
  done: number;
  /** Number of deliveries skipped because they were being sent or had changed since the replay started. */
  skipped: number;
  /** The user (`usr_…`) or API key (`key_…`) that started the replay, or `operator`. */
  startedBy: string;
  /** When the replay started. */
  createdAt: string;
  /** When the replay last changed. */
  updatedAt: string;
  /** When the replay ended. */
  finishedAt: string | null;
};

/** A page of a list. */
export type ReplayList = {
  data: Array<Replay>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** Which deliveries to resend. All conditions must match. */
export type ReplayFilter = {
  /** Only deliveries to this connector. */
  connectorId?: string | null;
  /** Only these deliveries, 1 to 100. IDs of deliveries that no longer exist match nothing. */
  deliveryIds?: Array<string> | null;
  /** Only deliveries of these event types. */
  eventTypes?: Array<EventType> | null;
  /** Only deliveries created at or after this time. */
  from?: string | null;
  /** Only deliveries with one of these statuses. `RUNNING` is not allowed. */
  status?: Array<DeliveryStatus> | null;
  /** Only test events (`true`) or only real events (`false`). */
  test?: boolean | null;
  /** Only deliveries created before this time. */
  to?: string | null;
  /** Only deliveries to this webhook. */
  webhookId?: string | null;
};

/** Which deliveries to resend, and how fast. */
export type CreateReplayRequest = {
  /** Whether to resend all deliveries. Must not be set together with `filter`. */
  all?: boolean | null;
  /** Whether to count the deliveries without resending them. */
  dryRun?: boolean | null;
  /** Which deliveries to resend. Required, with at least one condition, unless `all` is true. */
  filter?: ReplayFilter | null;
  /** Deliveries to queue per second, 1 to 1,000. Default: 50. */
  maxPerSecond?: number | null;
};

/** The result of `createReplay`. */
export type CreateReplayResponse = {
  /** Number of deliveries that match the filter. */
  total: number;
  /** The replay; null for a dry run. */
  replay: Replay | null;
};

/** The replay to cancel. */
export type CancelReplayRequest = Record<string, unknown>;

/** A page of a list. */
export type EventList = {
  data: Array<Event>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The test event to record. */
export type RecordTestEventRequest = {
  /** Type of the test event. */
  eventType: EventType;
};

/** A filter, and the events to test the filter with. */
export type TestEventFilterRequest = {
  /** An event in the project. Default: a sample of every event type. */
  eventId?: string | null;
  /** The filter, in the same format as for webhooks and connectors. */
  filter: EventContentFilter;
  /** How many of the project’s latest events to test the filter with, 1 to 50, instead of one event or the samples. Test events aren’t filtered, so they don’t count. */
  latest?: number | null;
};

/** Whether an event matches a filter. */
export type EventFilterResult = {
  /** The event type. */
  eventType: EventType;
  /** The event, `evt_…`; null for a sample of the event type. */
  eventId: string | null;
  /** Whether the event would be sent. */
  matches: boolean;
};

/** The result of `testEventFilter`. */
export type TestEventFilterResponse = {
  /** One result for each event. */
  results: Array<EventFilterResult>;
};

/** Status of a payment. */
export type PaymentStatus = 'CLAIMED' | 'FAILED' | 'SERVED' | 'SETTLED' | 'SETTLING' | 'UNKNOWN' | 'VERIFIED';

/** The step at which a payment failed. */
export type PaymentStage = 'SETTLE' | 'UPSTREAM' | 'VERIFY';

/** A wallet that has paid a project. */
export type Customer = {
  /** Identifier, `cus_…`. */
  id: string;
  /** The project that the customer paid. */
  projectId: string;
  /** The wallet, EIP-55 checksummed. */
  walletAddress: string;
  /** The number of settled payments. */
  paymentCount: number;
  /** Settled revenue in USD, as a decimal string. */
  totalUsd: string;
  /** Settled revenue in millionths of a dollar. */
  totalAtomic: string;
  /** When the first payment was settled, or null if no payment has been settled. */
  firstPaymentAt: string | null;
  /** When the last payment was settled. */
  lastPaymentAt: string | null;
  /** When the customer’s first payment was verified. */
  createdAt: string;
};

/** A payment for one request, and its outcome. */
export type Payment = {
  /** Identifier, `pay_…`. */
  id: string;
  /** The project that the payment belongs to. */
  projectId: string;
  /** The endpoint that was paid for, which may have been deleted since. */
  endpointId: string;
  /** The endpoint’s path at the time of the payment. */
  endpointPath: string;
  /** HTTP method of the request. */
  method: string;
  /** The customer who paid. Set once the payment is verified. */
  customerId: string | null;
  /** Status of the payment. */
  status: PaymentStatus;
  /** The step at which the payment failed. */
  failureStage: PaymentStage | null;
  /** Stable code that says why the payment failed or why its outcome is unknown, for example, `insufficient_funds`. */
  failureReason: string | null;
  /** The failure reason as a sentence. If there is an `unservedReason`, this describes that reason. */
  failureMessage: string | null;
  /** Amount in USD, as a decimal string. */
  amountUsd: string;
  /** Amount in atomic units of the asset (millionths of a dollar for USDC). */
  amountAtomic: string;
  /** Symbol of the asset, for example, `USDC`. */
  asset: string;
  /** Contract address of the asset, EIP-55 checksummed. */
  assetAddress: string;
  /** CAIP-2 network, for example, `eip155:8453`. */
  network: string;
  /** The payer’s wallet. */
  payer: string;
  /** Wallet that receives the payment. */
  payTo: string;
  /** Nonce of the authorization (EIP-3009). Each nonce can be used for only one payment. */
  nonce: string;
  /** x402 protocol version that the payer used. */
  x402Version: number;
  /** The buyer’s identifier for the payment (x402 extension `payment-identifier`). Masked for API keys and for the role `VIEWER`, because anyone who knows it can get the buyer’s response. */
  identifier: string | null;
  /** When the payment is settled, according to the endpoint’s setting at the time the payment arrived. */
  settlement: SettlementOrder;
  /** Why the buyer paid but didn’t get a complete response: a stable code, for example, `upstream_timeout`. Set only for payments that were settled before the request. The buyer may still be able to retry once for free. */
  unservedReason: string | null;
  /** How many times the upstream was called, at most twice. Null for payments that are settled after the response. */
  upstreamCallCount: number | null;
  /** HTTP status of the upstream’s response, or null if there was none. */
  upstreamStatusCode: number | null;
  /** The upstream’s response time in milliseconds, or null if it did not respond. */
  upstreamDurationMs: number | null;
  /** The settlement’s transaction hash. While the outcome is unknown, this is the hash that the facilitator reported. */
  transactionHash: string | null;
  /** Block explorer page for the transaction, if the network has a well-known explorer. Null in the sandbox. */
  explorerUrl: string | null;
  /** When the authorization expires. */
  validBefore: string;
  /** When the payment was received. */
  createdAt: string;
  /** When the payment was verified. */
  verifiedAt: string | null;
  /** When the upstream responded or, if the payment is settled before the request, when the response was complete. */
  servedAt: string | null;
  /** When the payment was settled. If the settlement was confirmed on a later day in the project’s time zone, this is the time of confirmation. */
  settledAt: string | null;
  /** When the payment last changed. */
  updatedAt: string;
  /** The endpoint that was paid for; null if it has been deleted. Returned only with `expand=endpoint`. */
  endpoint?: Endpoint | null;
  /** The customer who paid; null until the payment is verified. Returned only with `expand=customer`. */
  customer?: Customer | null;
};

/** A page of a list. */
export type PaymentList = {
  data: Array<Payment>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** How customers are sorted. */
export type CustomerOrder = 'CREATED' | 'FIRST_PAYMENT' | 'LAST_PAYMENT' | 'TOTAL';

/** A page of a list. */
export type CustomerList = {
  data: Array<Customer>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The length of an interval. Hours are in UTC. Days and months of revenue are in the project’s time zone, and those of statistics in UTC. */
export type RevenueInterval = 'DAY' | 'HOUR' | 'MONTH';

/** Revenue for a whole period. */
export type RevenueTotals = {
  /** Settled revenue in USD, as a decimal string. */
  totalUsd: string;
  /** Settled revenue in millionths of a dollar. */
  totalAtomic: string;
  /** The number of settled payments. */
  paymentCount: number;
  /** The number of payments that failed after they were verified. */
  failedCount: number;
  /** The number of customers with a settled payment. */
  customerCount: number;
};

/** Revenue for one interval. */
export type RevenueBucket = {
  /** The start of the interval. */
  start: string;
  /** Settled revenue in USD, as a decimal string. */
  totalUsd: string;
  /** Settled revenue in millionths of a dollar. */
  totalAtomic: string;
  /** The number of settled payments. */
  paymentCount: number;
  /** The number of payments that failed after they were verified. */
  failedCount: number;
};

/** Revenue from an endpoint in a period. */
export type RevenueEndpoint = {
  /** The endpoint, which may have been deleted. */
  endpointId: string;
  /** The endpoint’s path, or its last path if it was deleted. */
  path: string;
  /** Settled revenue in USD, as a decimal string. */
  totalUsd: string;
  /** Settled revenue in millionths of a dollar. */
  totalAtomic: string;
  /** The number of settled payments. */
  paymentCount: number;
};

/** Revenue from a customer in a period. */
export type RevenueCustomer = {
  /** The customer. */
  customerId: string;
  /** The wallet, EIP-55 checksummed. */
  walletAddress: string;
  /** Settled revenue in USD, as a decimal string. */
  totalUsd: string;
  /** Settled revenue in millionths of a dollar. */
  totalAtomic: string;
  /** The number of settled payments. */
  paymentCount: number;
};

/** A project’s revenue in a period, by interval. */
export type Revenue = {
  /** The start of the first interval. */
  from: string;
  /** The end of the last interval. */
  to: string;
  /** The length of each interval. */
  interval: RevenueInterval;
  /** The time zone of the days and months, such as `Europe/Vienna`: the project’s. Hours are in UTC. */
  timeZone: string;
  /** Totals for all intervals. */
  totals: RevenueTotals;
  /** All intervals in the period, in order, including those without payments. */
  buckets: Array<RevenueBucket>;
  /** The endpoints with the most revenue in the period. */
  topEndpoints: Array<RevenueEndpoint>;
  /** The customers who paid the most in the period. */
  topCustomers: Array<RevenueCustomer>;
};

/** Statistics for the whole period. */
export type DeliveryTotals = {
  /** Deliveries that succeeded. */
  succeededCount: number;
  /** Deliveries that failed, with or without retries. */
  failedCount: number;
  /** Deliveries that were skipped. */
  skippedCount: number;
  /** Deliveries that needed more than one attempt. */
  retriedCount: number;
  /** Median response time of the deliveries’ last attempts, in milliseconds; null if nothing was sent. */
  responseTimeP50Ms: number | null;
  /** 95th percentile response time of the deliveries’ last attempts, in milliseconds; null if nothing was sent. */
  responseTimeP95Ms: number | null;
};

/** How many events a destination’s filter excluded. */
export type FilteredOutCount = {
  /** The webhook or connector, which may have been deleted. */
  destinationId: string;
  /** Number of events of subscribed types that don’t match the filter. */
  count: number;
};

/** Statistics for deliveries that finished in one interval. */
export type DeliveryBucket = {
  /** Start of the interval. */
  start: string;
  /** Deliveries that succeeded. */
  succeededCount: number;
  /** Deliveries that failed, with or without retries. */
  failedCount: number;
  /** Deliveries that were skipped. */
  skippedCount: number;
  /** Deliveries that needed more than one attempt. */
  retriedCount: number;
  /** Median response time of the deliveries’ last attempts, in milliseconds; null if nothing was sent. */
  responseTimeP50Ms: number | null;
  /** 95th percentile response time of the deliveries’ last attempts, in milliseconds; null if nothing was sent. */
  responseTimeP95Ms: number | null;
};

/** Delivery statistics for a period, by interval. */
export type DeliveryStats = {
  /** Start of the first interval. */
  from: string;
  /** End of the last interval. */
  to: string;
  /** Length of each interval. */
  interval: RevenueInterval;
  /** Whether deliveries or filtered-out events are missing from the statistics: if more than 200,000 have not been aggregated yet, only the newest of those are included. */
  isPartial: boolean;
  /** Totals for all intervals. */
  totals: DeliveryTotals;
  /** Events in the period that were excluded by filters, for each webhook and connector, with the largest counts first. These events have no delivery, so no other count includes them. */
  filteredOut: Array<FilteredOutCount>;
  /** All intervals in the period, in order, including those without deliveries. */
  buckets: Array<DeliveryBucket>;
};

/** What a member may do in a project. */
export type MemberRole = 'ADMIN' | 'DEVELOPER' | 'VIEWER';

/** A person who shares a project with its owner. */
export type ProjectMember = {
  /** Identifier, `mem_…`. */
  id: string;
  /** The project. */
  projectId: string;
  /** The member’s account, `usr_…`. */
  userId: string;
  /** The member’s name at the identity provider: the subject of their token. */
  name: string;
  /** The email address that was invited; null for a previous owner. */
  email: string | null;
  /** What the member may do. */
  role: MemberRole;
  /** When the person became a member. */
  createdAt: string;
  /** When the role was last changed. */
  updatedAt: string;
};

/** A page of a list. */
export type ProjectMemberList = {
  data: Array<ProjectMember>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The member, and their new role. */
export type UpdateMemberRequest = {
  /** The new role. */
  role: MemberRole;
};

/** The project, and its new owner: either `memberId` or `email`. */
export type TransferProjectRequest = {
  /** The email address of the person who should become the owner, whether or not they are a member. */
  email?: string | null;
  /** The member who should become the owner. */
  memberId?: string | null;
};

/** An open offer to transfer a project. */
export type ProjectTransfer = {
  /** Identifier, `trf_…`. */
  id: string;
  /** The project. */
  projectId: string;
  /** The project’s name. */
  projectName: string;
  /** The account of the member who can accept, `usr_…`. Null if the project is offered to an email address. */
  userId: string | null;
  /** The email address of the person who can accept. Null for members without one. */
  email: string | null;
  /** The name of the member who can accept, or the email address. */
  name: string;
  /** The owner who offered the project, `usr_…`. */
  offeredById: string;
  /** The owner’s verified email address. If there is no verified address, this is the `sub` claim of the owner’s token. */
  offeredByName: string;
  /** When the project was offered. */
  createdAt: string;
  /** When the offer expires: a week after it was made. */
  expiresAt: string;
};

/** A page of a list. */
export type ProjectTransferList = {
  data: Array<ProjectTransfer>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The offer to accept. */
export type AcceptTransferRequest = Record<string, unknown>;

/** The offer to decline. */
export type DeclineTransferRequest = Record<string, unknown>;

/** The result of `declineTransfer`. */
export type DeclineTransferResponse = {
  /** The identifier of the declined offer. */
  transferId: string;
};

/** An open invitation to a project. */
export type Invitation = {
  /** Identifier, `inv_…`. */
  id: string;
  /** The project. */
  projectId: string;
  /** The project’s name. */
  projectName: string;
  /** The invited email address, in lowercase. Only a person whose identity provider has verified this address can respond. */
  email: string;
  /** The role that the person gets by accepting. */
  role: MemberRole;
  /** The account that sent the invitation, `usr_…`. */
  invitedById: string;
  /** The sender’s verified email address. If there is no verified address, this is the `sub` claim of the sender’s token. */
  invitedByName: string;
  /** When the invitation was sent. */
  createdAt: string;
  /** When the invitation expires: a week after it was sent. */
  expiresAt: string;
};

/** A page of a list. */
export type InvitationList = {
  data: Array<Invitation>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The person to invite. */
export type InviteMemberRequest = {
  /** The person’s email address. */
  email: string;
  /** The role that the person gets by accepting. */
  role: MemberRole;
};

/** The invitation to accept. */
export type AcceptInvitationRequest = Record<string, unknown>;

/** The invitation to decline. */
export type DeclineInvitationRequest = Record<string, unknown>;

/** The result of `declineInvitation`. */
export type DeclineInvitationResponse = {
  /** The identifier of the declined invitation. */
  invitationId: string;
};

/** What a notice is about. */
export type NoticeType =
  | 'api_key.expired'
  | 'api_key.expiring'
  | 'credential.expiring'
  | 'deliveries.expiring'
  | 'delivery.held'
  | 'destination.disabled'
  | 'destination.failing'
  | 'destination.paused'
  | 'destination.recovered'
  | 'facilitator.unreachable'
  | 'host.failing'
  | 'host.lost'
  | 'payment.uncertain'
  | 'transfer.accepted'
  | 'transfer.declined'
  | 'transfer.offered'
  | 'vendor.shutdown';

/** Something that the project’s owner should know about, such as a destination that stopped working. */
export type Notice = {
  /** Identifier, `ntc_…`. */
  id: string;
  /** The project that the notice belongs to. */
  projectId: string;
  /** What the notice is about. */
  type: NoticeType;
  /** The webhook, connector, API key, or project that the notice is about, which may have been deleted. */
  subjectId: string;
  /** What happened. */
  title: string;
  /** Why the notice was raised. */
  cause: string;
  /** Advice on what to do. */
  advice: string;
  /** The console page that shows the cause. Contains only the path if the server’s public URL isn’t known. */
  url: string;
  /** How many times the notice was raised, or how many payments or deliveries are affected. */
  count: number;
  /** When the notice was first raised. */
  firstAt: string;
  /** When the notice was last raised. */
  lastAt: string;
  /** When the problem ended; null if it hasn’t. */
  closedAt: string | null;
  /** When the notice was marked as read. */
  readAt: string | null;
  /** When the notice last changed. */
  updatedAt: string;
};

/** A page of a list. */
export type NoticeList = {
  data: Array<Notice>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The notices to mark as read. */
export type MarkNoticesReadRequest = {
  /** The notices, up to 100. Default: all of the project’s notices. */
  ids?: Array<string> | null;
};

/** The result of `markNoticesRead`. */
export type MarkNoticesReadResponse = {
  /** How many of the notices were unread. */
  readCount: number;
};

/** Who gets a project’s notices and its weekly digest. */
export type Contacts = {
  /** The project’s identifier. */
  id: string;
  /** Email addresses. */
  emails: Array<string>;
  /** URL that receives signed POST requests. Its secrets are masked. */
  webhookUrl: string | null;
  /** Incoming webhook URL for Slack or a compatible service. Its secrets are masked. */
  slackUrl: string | null;
  /** Whether the contacts also get the weekly digest. */
  weeklyDigest: boolean;
  /** Whether email is set up on this server. If not, email addresses are stored, but no email is sent. */
  canSendEmail: boolean;
};

/** Changes to a project’s contacts. Omitted fields stay unchanged. */
export type UpdateContactsRequest = {
  /** Email addresses, up to 10. Send an empty list to remove all addresses. */
  emails?: Array<string> | null;
  /** Incoming webhook URL for Slack or a compatible service. Set to null to remove it. A masked URL that you send back stays unchanged. */
  slackUrl?: string | null;
  /** HTTPS URL that receives signed POST requests. Set to null to remove it. A masked URL that you send back stays unchanged. */
  webhookUrl?: string | null;
  /** Whether the contacts also get the weekly digest. Default: true. */
  weeklyDigest?: boolean | null;
};

/** Who gets a project’s notices and its weekly digest. */
export type UpdateContactsResponse = {
  /** The project’s identifier. */
  id: string;
  /** Email addresses. */
  emails: Array<string>;
  /** URL that receives signed POST requests. Its secrets are masked. */
  webhookUrl: string | null;
  /** Incoming webhook URL for Slack or a compatible service. Its secrets are masked. */
  slackUrl: string | null;
  /** Whether the contacts also get the weekly digest. */
  weeklyDigest: boolean;
  /** Whether email is set up on this server. If not, email addresses are stored, but no email is sent. */
  canSendEmail: boolean;
  /** The webhook’s signing secret. Returned only if the webhook URL is new, and shown only once. */
  webhookSecret: string | null;
};

/** The action that was taken. */
export type AuditAction =
  | 'api_key.created'
  | 'api_key.revoked'
  | 'connector.created'
  | 'connector.deleted'
  | 'connector.updated'
  | 'contacts.updated'
  | 'endpoint.created'
  | 'endpoint.deleted'
  | 'endpoint.updated'
  | 'invitation.accepted'
  | 'invitation.created'
  | 'invitation.declined'
  | 'invitation.revoked'
  | 'mcp.tool_called'
  | 'member.removed'
  | 'member.updated'
  | 'project.created'
  | 'project.deleted'
  | 'project.host_verified'
  | 'project.transferred'
  | 'project.updated'
  | 'project.upstream_secret_rotated'
  | 'replay.canceled'
  | 'replay.created'
  | 'transfer.declined'
  | 'transfer.offered'
  | 'transfer.withdrawn'
  | 'user.blocked'
  | 'user.deliveries_requeued'
  | 'user.unblocked'
  | 'user.updated'
  | 'webhook.created'
  | 'webhook.deleted'
  | 'webhook.secret_rotated'
  | 'webhook.updated';

/** Who made a change: a user, an API key, or an operator. */
export type AuditActorKind = 'API_KEY' | 'OPERATOR' | 'USER';

/** A change that someone made through the API. */
export type AuditEntry = {
  /** Identifier, `aud_…`. */
  id: string;
  /** The affected project, which may have been deleted. Null for changes to a user’s account. */
  projectId: string | null;
  /** The action that was taken. */
  action: AuditAction;
  /** The resource that was changed. It may have been deleted since. */
  targetId: string;
  /** Whether a user, an API key, or an operator made the change. */
  actorKind: AuditActorKind;
  /** The user (`usr_…`) or API key (`key_…`) that made the change, or `operator`. */
  actorId: string;
  /** The actor’s name at the time of the change: the token’s subject, the key’s name, or `operator`. */
  actorName: string;
  /** The new values. Secrets are omitted or masked. A large value is replaced with its size (`bytes`) and the SHA-256 hash of its JSON (`sha256`). */
  changes: unknown;
  /** The previous values of the same fields; null for actions that don’t replace values. */
  previous: unknown;
  /** The program that sent the request, as identified by its `Tollgate-Client` header, for example, `mcp/create_endpoint`. */
  client: string | null;
  /** Whether the client reported the entry itself. Everyone who can use the project can report tool calls, including viewers, so a report doesn’t prove that the call was made. */
  isReported: boolean;
  /** When the change was made. */
  createdAt: string;
};

/** A page of a list. */
export type AuditEntryList = {
  data: Array<AuditEntry>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** The call to record. */
export type RecordToolCallRequest = {
  /** The arguments that may be logged: an object, up to 2,000 characters as JSON. */
  arguments?: ToolCallArguments | null;
  /** The tool’s name, for example, `list_payments`. */
  tool: string;
};

/** The result of `recordToolCall`. */
export type RecordToolCallResponse = {
  /** The tool’s name. */
  tool: string;
};

/** The type of a search result. */
export type SearchResultType =
  | 'ApiKey'
  | 'AuditEntry'
  | 'Connector'
  | 'Customer'
  | 'Delivery'
  | 'Endpoint'
  | 'Event'
  | 'Notice'
  | 'Payment'
  | 'Project'
  | 'Replay'
  | 'Webhook';

/** A search result. To read the item, pass its ID to `node`. */
export type SearchResult = {
  /** The type of the item. */
  type: SearchResultType;
  /** The item’s identifier. */
  id: string;
  /** The project that the item is in. For a project, its own ID. */
  projectId: string;
  /** A short label for the item, such as its path, name, host, or wallet. */
  label: string;
  /** The item’s status, such as `SETTLED`, `ACTIVE`, or `PAUSED`; null if the item has no status. */
  status: string | null;
};

/** The whole list. */
export type SearchResultList = {
  data: Array<SearchResult>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** What needs attention in an account, as operators see it. */
export type AccountHealth = {
  /** The account’s user, `usr_…`. */
  userId: string;
  /** Issuer of the user’s tokens. */
  issuer: string;
  /** Subject of the user’s tokens. */
  subject: string;
  /** When the account was blocked; null if it isn’t blocked. */
  blockedAt: string | null;
  /** Number of payments that aren’t final after 5 minutes. */
  unresolvedPaymentCount: number;
  /** When the oldest of these payments was sent. */
  unresolvedSince: string | null;
  /** Number of webhooks and connectors that the service has disabled. */
  disabledDestinationCount: number;
  /** Number of webhooks and connectors that the service has paused. */
  pausedDestinationCount: number;
  /** Number of active webhooks and connectors whose last delivery failed. */
  failingDestinationCount: number;
  /** Number of deliveries that failed, after all retries, in the last 24 hours. */
  failedDeliveryCount: number;
  /** Number of deliveries that should have been sent more than 1 minute ago, among the 1,000 oldest unfinished ones of each project. */
  overdueDeliveryCount: number;
  /** When the first of these deliveries should have been sent. */
  overdueSince: string | null;
};

/** A page of a list. */
export type AccountHealthList = {
  data: Array<AccountHealth>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** Who sets a user’s tier and rate limit. */
export type TierSetter = 'ISSUER' | 'OPERATOR';

/** A user’s account, as operators see it. */
export type OperatorUser = {
  /** Identifier, `usr_…`. */
  id: string;
  /** Issuer of the user’s tokens. */
  issuer: string;
  /** Subject of the user’s tokens. */
  subject: string;
  /** The account’s tier. */
  tier: Tier;
  /** An enterprise account’s rate limit; null means unlimited. Other tiers have their own limits. */
  requestsPerMinute: number | null;
  /** Who sets the tier and the rate limit. */
  tierSetBy: TierSetter;
  /** Whether the user is an operator. Operators can’t be blocked. */
  isOperator: boolean;
  /** When the account was blocked; null if it isn’t blocked. */
  blockedAt: string | null;
  /** The reason for the block, as shown to the user. */
  blockedReason: string | null;
  /** When the account was created. */
  createdAt: string;
};

/** A page of a list. */
export type OperatorUserList = {
  data: Array<OperatorUser>;
  /** Pass this cursor as `after` to get the next page. Null on the last page. */
  nextCursor: string | null;
};

/** How many resources an account has. */
export type UserTotals = {
  /** Number of projects. */
  projectCount: number;
  /** Number of connectors in all projects. */
  connectorCount: number;
  /** Number of unfinished deliveries in all projects. The count stops at 1,000. */
  waitingDeliveryCount: number;
};

/** A user’s account, as operators see it. */
export type OperatorUserWithUsage = {
  /** Identifier, `usr_…`. */
  id: string;
  /** Issuer of the user’s tokens. */
  issuer: string;
  /** Subject of the user’s tokens. */
  subject: string;
  /** The account’s tier. */
  tier: Tier;
  /** An enterprise account’s rate limit; null means unlimited. Other tiers have their own limits. */
  requestsPerMinute: number | null;
  /** Who sets the tier and the rate limit. */
  tierSetBy: TierSetter;
  /** Whether the user is an operator. Operators can’t be blocked. */
  isOperator: boolean;
  /** When the account was blocked; null if it isn’t blocked. */
  blockedAt: string | null;
  /** The reason for the block, as shown to the user. */
  blockedReason: string | null;
  /** When the account was created. */
  createdAt: string;
  /** How many resources the account has. */
  usage: UserTotals;
};

/** The new values. Omitted fields stay unchanged. */
export type UpdateUserRequest = {
  /** The new rate limit of an enterprise account, 1 to 1,000,000; null means unlimited. */
  requestsPerMinute?: number | null;
  /** The new tier. */
  tier?: Tier;
  /** Who sets the tier. Set to `ISSUER` to let token claims change the tier again. Default: `OPERATOR`. */
  tierSetBy?: TierSetter;
};

/** The user to block, and why. */
export type BlockUserRequest = {
  /** The reason to show to the user, 1 to 500 characters. If the user is already blocked, this replaces the current reason. */
  reason: string;
};

/** The user to unblock. */
export type UnblockUserRequest = Record<string, unknown>;

/** The account, and which of its failed deliveries to resend. */
export type RequeueDeliveriesRequest = {
  /** Whether to count the deliveries without resending them. */
  dryRun?: boolean | null;
  /** Only deliveries created at or after this time. Default: all. */
  from?: string | null;
  /** Deliveries to queue per second and project, 1 to 1,000. Default: 50. */
  maxPerSecond?: number | null;
};

/** The result of `requeueDeliveries`. */
export type RequeueDeliveriesResponse = {
  /** Number of failed deliveries. The count stops at 100,000, but all of them are resent. */
  total: number;
  /** Number of replays that were started; 0 for a dry run. */
  replayCount: number;
};

/** An event's payload, by event type. */
export type EventDataByType = {
  'payment.verified': PaymentVerifiedData;
  'payment.settled': PaymentSettledData;
  'payment.failed': PaymentFailedData;
  'customer.first_payment': CustomerFirstPaymentData;
  'customer.milestone': CustomerMilestoneData;
  'endpoint.created': EndpointCreatedData;
  'endpoint.pricing_changed': EndpointPricingChangedData;
  'revenue.daily_summary': RevenueDailySummaryData;
};

/** The body of a webhook request. `type` says which event it is. */
export type WebhookEvent =
  | PaymentVerifiedEvent
  | PaymentSettledEvent
  | PaymentFailedEvent
  | CustomerFirstPaymentEvent
  | CustomerMilestoneEvent
  | EndpointCreatedEvent
  | EndpointPricingChangedEvent
  | RevenueDailySummaryEvent;

/** Query parameters for `projects.list`. */
export type ListProjectsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only projects created at or after this time. */
  from?: string;
  /** Only projects created before this time. */
  to?: string;
};

/** Query parameters for `endpoints.list`. */
export type ListEndpointsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only endpoints created at or after this time. */
  from?: string;
  /** Only endpoints that are served (`true`) or not (`false`). */
  isActive?: boolean;
  /** Only endpoints whose path starts with this text, for example, "/v1/". */
  pathPrefix?: string;
  /** Only endpoints created before this time. */
  to?: string;
  /** Sort order. Default: NEWEST. */
  orderBy?: EndpointOrder;
};

/** Query parameters for `apiKeys.list`. */
export type ListApiKeysQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only keys created at or after this time. */
  from?: string;
  /** Only keys created before this time. */
  to?: string;
};

/** Query parameters for `connectors.list`. */
export type ListConnectorsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only connectors created at or after this time. */
  from?: string;
  /** Only connectors that are active (`true`) or disabled (`false`). */
  isActive?: boolean;
  /** Only connectors whose deliveries are held (`true`) or not (`false`). */
  isPaused?: boolean;
  /** Only connectors whose name contains this text, regardless of case. */
  name?: string;
  /** Only connectors created before this time. */
  to?: string;
  /** Only connectors of these types. Repeatable. */
  type?: Array<ConnectorType>;
};

/** Query parameters for `connectors.listDeliveries`. */
export type ListConnectorDeliveriesQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only deliveries to this connector. */
  connectorId?: string;
  /** Only deliveries of this event. */
  eventId?: string;
  /** Only deliveries of these event types. Repeatable. */
  eventType?: Array<EventType>;
  /** Only deliveries that reached a final status at or after this time. Statistics count deliveries by this time. */
  finishedFrom?: string;
  /** Only deliveries that reached a final status before this time. */
  finishedTo?: string;
  /** Only deliveries created at or after this time. */
  from?: string;
  /** Former name of `from`. */
  since?: string;
  /** Only deliveries with one of these statuses. Repeatable. */
  status?: Array<DeliveryStatus>;
  /** Only deliveries created before this time. */
  to?: string;
  /** Only deliveries to this webhook. */
  webhookId?: string;
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'event' | 'attempts' | 'webhook' | 'connector'>;
};

/** Query parameters for `webhooks.list`. */
export type ListWebhooksQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only webhooks created at or after this time. */
  from?: string;
  /** Only webhooks that are active (`true`) or disabled (`false`). */
  isActive?: boolean;
  /** Only webhooks whose deliveries are held (`true`) or not (`false`). */
  isPaused?: boolean;
  /** Only webhooks whose name contains this text, regardless of case. */
  name?: string;
  /** Only webhooks created before this time. */
  to?: string;
};

/** Query parameters for `webhooks.listDeliveries`. */
export type ListWebhookDeliveriesQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only deliveries to this connector. */
  connectorId?: string;
  /** Only deliveries of this event. */
  eventId?: string;
  /** Only deliveries of these event types. Repeatable. */
  eventType?: Array<EventType>;
  /** Only deliveries that reached a final status at or after this time. Statistics count deliveries by this time. */
  finishedFrom?: string;
  /** Only deliveries that reached a final status before this time. */
  finishedTo?: string;
  /** Only deliveries created at or after this time. */
  from?: string;
  /** Former name of `from`. */
  since?: string;
  /** Only deliveries with one of these statuses. Repeatable. */
  status?: Array<DeliveryStatus>;
  /** Only deliveries created before this time. */
  to?: string;
  /** Only deliveries to this webhook. */
  webhookId?: string;
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'event' | 'attempts' | 'webhook' | 'connector'>;
};

/** Query parameters for `deliveries.list`. */
export type ListDeliveriesQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only deliveries to this connector. */
  connectorId?: string;
  /** Only deliveries of this event. */
  eventId?: string;
  /** Only deliveries of these event types. Repeatable. */
  eventType?: Array<EventType>;
  /** Only deliveries that reached a final status at or after this time. Statistics count deliveries by this time. */
  finishedFrom?: string;
  /** Only deliveries that reached a final status before this time. */
  finishedTo?: string;
  /** Only deliveries created at or after this time. */
  from?: string;
  /** Former name of `from`. */
  since?: string;
  /** Only deliveries with one of these statuses. Repeatable. */
  status?: Array<DeliveryStatus>;
  /** Only deliveries created before this time. */
  to?: string;
  /** Only deliveries to this webhook. */
  webhookId?: string;
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'event' | 'attempts' | 'webhook' | 'connector'>;
};

/** Query parameters for `deliveries.get`. */
export type GetDeliveryQuery = {
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'event' | 'webhook' | 'connector'>;
};

/** Query parameters for `deliveries.export`. */
export type ExportDeliveriesQuery = {
  /** Continues an export that was cut off: only rows after the one with this ID, and no header in CSV. Send the ID of the last complete row, and the same filters. */
  after?: string;
  /** Only deliveries to this connector. */
  connectorId?: string;
  /** Only deliveries of this event. */
  eventId?: string;
  /** Only deliveries of these event types. Repeatable. */
  eventType?: Array<EventType>;
  /** Only deliveries that reached a final status at or after this time. Statistics count deliveries by this time. */
  finishedFrom?: string;
  /** Only deliveries that reached a final status before this time. */
  finishedTo?: string;
  /** Only deliveries created at or after this time. */
  from?: string;
  /** Former name of `from`. */
  since?: string;
  /** Only deliveries with one of these statuses. Repeatable. */
  status?: Array<DeliveryStatus>;
  /** Only deliveries created before this time. */
  to?: string;
  /** Only deliveries to this webhook. */
  webhookId?: string;
};

/** Query parameters for `replays.list`. */
export type ListReplaysQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only replays started at or after this time. */
  from?: string;
  /** Only replays with one of these statuses. Repeatable. */
  status?: Array<ReplayStatus>;
  /** Only replays started before this time. */
  to?: string;
};

/** Query parameters for `events.list`. */
export type ListEventsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only events of these types. Repeatable. */
  eventType?: Array<EventType>;
  /** Only events that happened at or after this time. */
  from?: string;
  /** Only events about this endpoint, payment, or customer. */
  resourceId?: string;
  /** Only events that happened before this time. */
  to?: string;
};

/** Query parameters for `events.export`. */
export type ExportEventsQuery = {
  /** Continues an export that was cut off: only rows after the one with this ID, and no header in CSV. Send the ID of the last complete row, and the same filters. */
  after?: string;
  /** Only events of these types. Repeatable. */
  eventType?: Array<EventType>;
  /** Only events that happened at or after this time. */
  from?: string;
  /** Only events about this endpoint, payment, or customer. */
  resourceId?: string;
  /** Only events that happened before this time. */
  to?: string;
};

/** Query parameters for `payments.list`. */
export type ListPaymentsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only payments by this customer. */
  customerId?: string;
  /** Only payments for this endpoint. */
  endpointId?: string;
  /** Only payments that settled or failed at or after this time. Revenue counts payments by this time. */
  finishedFrom?: string;
  /** Only payments that settled or failed before this time. */
  finishedTo?: string;
  /** Only payments received at or after this time. */
  from?: string;
  /** Only payments with this buyer-supplied identifier. Excludes failed payments, because a failed payment releases its identifier. */
  identifier?: string;
  /** Only payments of at most this amount in USD. */
  maxAmountUsd?: string;
  /** Only payments of at least this amount in USD, for example, "0.01". */
  minAmountUsd?: string;
  /** Only payments from this wallet, including payments that weren’t verified. */
  payer?: string;
  /** Only payments with one of these statuses. Repeatable. */
  status?: Array<PaymentStatus>;
  /** Only payments received before this time. */
  to?: string;
  /** Only payments settled by the transaction with this hash. */
  transactionHash?: string;
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'endpoint' | 'customer'>;
};

/** Query parameters for `payments.get`. */
export type GetPaymentQuery = {
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'endpoint' | 'customer'>;
};

/** Query parameters for `payments.export`. */
export type ExportPaymentsQuery = {
  /** Continues an export that was cut off: only rows after the one with this ID, and no header in CSV. Send the ID of the last complete row, and the same filters. */
  after?: string;
  /** Only payments by this customer. */
  customerId?: string;
  /** Only payments for this endpoint. */
  endpointId?: string;
  /** Only payments that settled or failed at or after this time. Revenue counts payments by this time. */
  finishedFrom?: string;
  /** Only payments that settled or failed before this time. */
  finishedTo?: string;
  /** Only payments received at or after this time. */
  from?: string;
  /** Only payments with this buyer-supplied identifier. Excludes failed payments, because a failed payment releases its identifier. */
  identifier?: string;
  /** Only payments of at most this amount in USD. */
  maxAmountUsd?: string;
  /** Only payments of at least this amount in USD, for example, "0.01". */
  minAmountUsd?: string;
  /** Only payments from this wallet, including payments that weren’t verified. */
  payer?: string;
  /** Only payments with one of these statuses. Repeatable. */
  status?: Array<PaymentStatus>;
  /** Only payments received before this time. */
  to?: string;
  /** Only payments settled by the transaction with this hash. */
  transactionHash?: string;
};

/** Query parameters for `customers.list`. */
export type ListCustomersQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only customers whose last payment was at or after this time. */
  from?: string;
  /** Only customers who spent at least this amount in USD, for example, "100". */
  minTotalUsd?: string;
  /** Only customers whose last payment was before this time. */
  to?: string;
  /** Only the customer with this wallet. */
  walletAddress?: string;
  /** Sort order. Default: LAST_PAYMENT. */
  orderBy?: CustomerOrder;
};

/** Query parameters for `customers.listPayments`. */
export type ListCustomerPaymentsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only payments by this customer. */
  customerId?: string;
  /** Only payments for this endpoint. */
  endpointId?: string;
  /** Only payments that settled or failed at or after this time. Revenue counts payments by this time. */
  finishedFrom?: string;
  /** Only payments that settled or failed before this time. */
  finishedTo?: string;
  /** Only payments received at or after this time. */
  from?: string;
  /** Only payments with this buyer-supplied identifier. Excludes failed payments, because a failed payment releases its identifier. */
  identifier?: string;
  /** Only payments of at most this amount in USD. */
  maxAmountUsd?: string;
  /** Only payments of at least this amount in USD, for example, "0.01". */
  minAmountUsd?: string;
  /** Only payments from this wallet, including payments that weren’t verified. */
  payer?: string;
  /** Only payments with one of these statuses. Repeatable. */
  status?: Array<PaymentStatus>;
  /** Only payments received before this time. */
  to?: string;
  /** Only payments settled by the transaction with this hash. */
  transactionHash?: string;
  /** Related resources to include in the response. Repeatable. */
  expand?: Array<'endpoint' | 'customer'>;
};

/** Query parameters for `customers.export`. */
export type ExportCustomersQuery = {
  /** Continues an export that was cut off: only rows after the one with this ID, and no header in CSV. Send the ID of the last complete row, and the same filters. */
  after?: string;
  /** Only customers whose last payment was at or after this time. */
  from?: string;
  /** Only customers who spent at least this amount in USD, for example, "100". */
  minTotalUsd?: string;
  /** Only customers whose last payment was before this time. */
  to?: string;
  /** Only the customer with this wallet. */
  walletAddress?: string;
};

/** Query parameters for `revenue.get`. */
export type GetRevenueQuery = {
  /** Start of the range (inclusive). Default: 24 hours, 30 days, or 12 months before `to`. */
  from?: string;
  /** End of the range (exclusive). Default: now. The start and the end are rounded outward to whole intervals. */
  to?: string;
  /** Interval. Days and months are in the project’s time zone. Default: DAY. */
  interval?: RevenueInterval;
};

/** Query parameters for `revenue.export`. */
export type ExportRevenueQuery = {
  /** Start of the range (inclusive). Default: 24 hours, 30 days, or 12 months before `to`. */
  from?: string;
  /** End of the range (exclusive). Default: now. The start and the end are rounded outward to whole intervals. */
  to?: string;
  /** Interval. Days and months are in the project’s time zone. Default: DAY. */
  interval?: RevenueInterval;
};

/** Query parameters for `deliveryStats.get`. */
export type GetDeliveryStatsQuery = {
  /** Start of the range (inclusive). Default: 24 hours, 30 days, or 12 months before `to`. */
  from?: string;
  /** End of the range (exclusive). Default: now. The start and the end are rounded outward to whole intervals. */
  to?: string;
  /** Interval, in UTC. Default: DAY. */
  interval?: RevenueInterval;
};

/** Query parameters for `members.list`. */
export type ListMembersQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
};

/** Query parameters for `transfers.listMine`. */
export type ListMyTransfersQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
};

/** Query parameters for `invitations.list`. */
export type ListInvitationsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
};

/** Query parameters for `invitations.listMine`. */
export type ListMyInvitationsQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
};

/** Query parameters for `notices.list`. */
export type ListNoticesQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only notices first raised at or after this time. */
  from?: string;
  /** Only notices about problems that are ongoing (`true`) or resolved (`false`). */
  isOpen?: boolean;
  /** Only notices that are read (`true`) or unread (`false`). */
  isRead?: boolean;
  /** Only notices about this webhook, connector, API key, or project. */
  subjectId?: string;
  /** Only notices first raised before this time. */
  to?: string;
  /** Only notices of these types. Repeatable. */
  type?: Array<NoticeType>;
};

/** Query parameters for `auditLog.list`. */
export type ListProjectAuditLogQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only entries with these actions. Repeatable. */
  action?: Array<AuditAction>;
  /** Only changes by this user (`usr_…`) or API key (`key_…`). */
  actorId?: string;
  /** Only changes made at or after this time. */
  from?: string;
  /** Only changes to this resource. */
  targetId?: string;
  /** Only changes made before this time. */
  to?: string;
};

/** Query parameters for `auditLog.listAllProjects`. */
export type ListAuditLogQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only entries with these actions. Repeatable. */
  action?: Array<AuditAction>;
  /** Only changes by this user (`usr_…`) or API key (`key_…`). */
  actorId?: string;
  /** Only changes made at or after this time. */
  from?: string;
  /** Only changes to this resource. */
  targetId?: string;
  /** Only changes made before this time. */
  to?: string;
};

/** Query parameters for `auditLog.listAccount`. */
export type ListAccountLogQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only entries with these actions. Repeatable. */
  action?: Array<AuditAction>;
  /** Only changes by this user (`usr_…`) or API key (`key_…`). */
  actorId?: string;
  /** Only changes made at or after this time. */
  from?: string;
  /** Only changes to this resource. */
  targetId?: string;
  /** Only changes made before this time. */
  to?: string;
};

/** Query parameters for `auditLog.export`. */
export type ExportProjectAuditLogQuery = {
  /** Continues an export that was cut off: only rows after the one with this ID, and no header in CSV. Send the ID of the last complete row, and the same filters. */
  after?: string;
  /** Only entries with these actions. Repeatable. */
  action?: Array<AuditAction>;
  /** Only changes by this user (`usr_…`) or API key (`key_…`). */
  actorId?: string;
  /** Only changes made at or after this time. */
  from?: string;
  /** Only changes to this resource. */
  targetId?: string;
  /** Only changes made before this time. */
  to?: string;
};

/** Query parameters for `search.inProject`. */
export type SearchProjectQuery = {
  /** An ID, a transaction hash, a wallet, a payment identifier, or part of an endpoint’s path, a destination’s host, or an API key’s name. */
  q: string;
};

/** Query parameters for `search.inAllProjects`. */
export type SearchQuery = {
  /** An ID, a transaction hash, a wallet, a payment identifier, or part of an endpoint’s path, a destination’s host, or an API key’s name. */
  q: string;
};

/** Query parameters for `operator.listAccountHealth`. */
export type ListAccountHealthQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
};

/** Query parameters for `operator.listUsers`. */
export type ListUsersQuery = {
  /** Page size. Default: 20. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  after?: string;
  /** Only users created at or after this time. */
  from?: string;
  /** Only users who are blocked (`true`) or aren’t blocked (`false`). */
  isBlocked?: boolean;
  /** Only users of this issuer. */
  issuer?: string;
  /** Only users with this subject, exactly as in their tokens. */
  subject?: string;
  /** Only users on these tiers. Repeatable. */
  tier?: Array<Tier>;
  /** Only users created before this time. */
  to?: string;
};

/** The methods for each resource. */
export type Resources = {
  me: {
    /** Get the user or API key that made the request, and the account’s limits. */
    get(options?: RequestOptions): Promise<Viewer>;
  };
  projects: {
    /** List your projects. */
    list(query?: ListProjectsQuery, options?: RequestOptions): Listing<ProjectList>;
    /** Create a project. */
    create(body: CreateProjectRequest, options?: CreateOptions): Promise<Project>;
    /** Get a project. */
    get(projectId: string, options?: RequestOptions): Promise<Project>;
    /** Update a project. */
    update(projectId: string, body: UpdateProjectRequest, options?: RequestOptions): Promise<Project>;
    /** Delete a project and everything in it. */
    delete(projectId: string, options?: RequestOptions): Promise<void>;
    /** Copy a project, for example, to go live with a test project. */
    copy(projectId: string, body: CopyProjectRequest, options?: CreateOptions): Promise<Project>;
    /** Offer a project to a new owner. */
    transfer(projectId: string, body: TransferProjectRequest, options?: CreateOptions): Promise<ProjectTransfer>;
    /** Get the open offer to transfer a project. */
    getTransfer(projectId: string, options?: RequestOptions): Promise<ProjectTransfer>;
    /** Withdraw the open offer to transfer a project. */
    withdrawTransfer(projectId: string, options?: RequestOptions): Promise<void>;
  };
  upstreamSecret: {
    /** Get the secret for verifying requests from the gateway; null for API keys and for viewers. */
    get(options?: RequestOptions): Promise<UpstreamSecret>;
    /** Replace the secret for verifying requests from the gateway. */
    rotate(body?: RotateUpstreamSecretRequest, options?: CreateOptions): Promise<UpstreamSecret>;
  };
  gatewayHost: {
    /** Get the status of a project’s custom domain. */
    get(options?: RequestOptions): Promise<GatewayHostStatus>;
    /** Check a project’s custom domain now. */
    verify(body?: VerifyGatewayHostRequest, options?: CreateOptions): Promise<VerifyGatewayHostResponse>;
  };
  buyerRules: {
    /** Get a project’s rules for buyers. */
    get(options?: RequestOptions): Promise<BuyerRules>;
    /** Change which wallets may pay, and how much. */
    update(body: UpdateBuyerRulesRequest, options?: RequestOptions): Promise<BuyerRules>;
    /** Deny a wallet. */
    deny(body: DenyBuyerRequest, options?: CreateOptions): Promise<BuyerRules>;
    /** Allow a wallet. */
    allow(body: AllowBuyerRequest, options?: CreateOptions): Promise<BuyerRules>;
  };
  endpoints: {
    /** List a project’s endpoints. */
    list(query?: ListEndpointsQuery, options?: RequestOptions): Listing<EndpointList>;
    /** Create an endpoint. */
    create(body: CreateEndpointRequest, options?: CreateOptions): Promise<Endpoint>;
    /** Get an endpoint. */
    get(endpointId: string, options?: RequestOptions): Promise<Endpoint>;
    /** Update an endpoint. */
    update(endpointId: string, body: UpdateEndpointRequest, options?: RequestOptions): Promise<Endpoint>;
    /** Delete an endpoint. */
    delete(endpointId: string, options?: RequestOptions): Promise<void>;
    /** Compare an OpenAPI document with a project’s endpoints. */
    previewImport(body: PreviewImportRequest, options?: CreateOptions): Promise<PreviewImportResponse>;
    /** Create and update endpoints from an OpenAPI document. */
    import(body: ImportEndpointsRequest, options?: CreateOptions): Promise<ImportEndpointsResponse>;
  };
  apiKeys: {
    /** List a project’s API keys. */
    list(query?: ListApiKeysQuery, options?: RequestOptions): Listing<ApiKeyList>;
    /** Create an API key; `key` is shown only once. */
    create(body: CreateApiKeyRequest, options?: CreateOptions): Promise<CreateApiKeyResponse>;
    /** Get an API key. */
    get(keyId: string, options?: RequestOptions): Promise<ApiKey>;
    /** Revoke an API key permanently, effective immediately. */
    revoke(keyId: string, options?: RequestOptions): Promise<void>;
  };
  connectors: {
    /** List a project’s connectors. */
    list(query?: ListConnectorsQuery, options?: RequestOptions): Listing<ConnectorList>;
    /** Create a connector. */
    create(body: CreateConnectorRequest, options?: CreateOptions): Promise<Connector>;
    /** Get a connector. */
    get(connectorId: string, options?: RequestOptions): Promise<Connector>;
    /** Update a connector. */
    update(connectorId: string, body: UpdateConnectorRequest, options?: RequestOptions): Promise<Connector>;
    /** Delete a connector. */
    delete(connectorId: string, options?: RequestOptions): Promise<void>;
    /** List a connector’s deliveries. */
    listDeliveries(
      connectorId: string,
      query?: ListConnectorDeliveriesQuery,
      options?: RequestOptions,
    ): Listing<DeliveryList>;
    /** Check a connector’s credentials or send a test event. */
    test(connectorId: string, body?: TestConnectorRequest, options?: CreateOptions): Promise<TestConnectorResponse>;
  };
  connectorTypes: {
    /** List all connector types and their config fields. */
    list(options?: RequestOptions): Listing<ConnectorTypeInfoList>;
  };
  webhooks: {
    /** List a project’s webhooks. */
    list(query?: ListWebhooksQuery, options?: RequestOptions): Listing<WebhookList>;
    /** Create a webhook; `secret` is shown only once. */
    create(body: CreateWebhookRequest, options?: CreateOptions): Promise<CreateWebhookResponse>;
    /** Get a webhook. */
    get(webhookId: string, options?: RequestOptions): Promise<Webhook>;
    /** Update a webhook. */
    update(webhookId: string, body: UpdateWebhookRequest, options?: RequestOptions): Promise<Webhook>;
    /** Delete a webhook. */
    delete(webhookId: string, options?: RequestOptions): Promise<void>;
    /** List a webhook’s deliveries. */
    listDeliveries(
      webhookId: string,
      query?: ListWebhookDeliveriesQuery,
      options?: RequestOptions,
    ): Listing<DeliveryList>;
    /** Rotate a webhook’s signing secret; the new one is shown only once. */
    rotateSecret(
      webhookId: string,
      body?: RotateWebhookSecretRequest,
      options?: CreateOptions,
    ): Promise<RotateWebhookSecretResponse>;
    /** Send a test event to a webhook. */
    sendTestEvent(webhookId: string, body?: SendWebhookTestEventRequest, options?: CreateOptions): Promise<Delivery>;
  };
  deliveries: {
    /** List deliveries to all webhooks and connectors in a project. */
    list(query?: ListDeliveriesQuery, options?: RequestOptions): Listing<DeliveryList>;
    /** Get a delivery with its attempts. */
    get(deliveryId: string, query?: GetDeliveryQuery, options?: RequestOptions): Promise<DeliveryWithAttempts>;
    /** Explain a delivery’s current status and what happens next. */
    explain(deliveryId: string, options?: RequestOptions): Promise<DeliveryExplanation>;
    /** Resend a delivery. */
    resend(deliveryId: string, body?: ResendDeliveryRequest, options?: CreateOptions): Promise<Delivery>;
    /** Export deliveries as CSV or JSON Lines. */
    export(query?: ExportDeliveriesQuery, options?: RequestOptions): Exported<Delivery>;
    /** Follow deliveries live, and reconnect if the connection is lost. */
    follow(query?: Omit<ListDeliveriesQuery, 'limit' | 'after' | 'expand'>, options?: FollowOptions): Feed<Delivery>;
  };
  replays: {
    /** List a project’s replays. */
    list(query?: ListReplaysQuery, options?: RequestOptions): Listing<ReplayList>;
    /** Resend all deliveries that match a filter, or count them. */
    create(body: CreateReplayRequest, options?: CreateOptions): Promise<CreateReplayResponse>;
    /** Get a replay and its progress. */
    get(replayId: string, options?: RequestOptions): Promise<Replay>;
    /** Cancel a replay. */
    cancel(replayId: string, body?: CancelReplayRequest, options?: CreateOptions): Promise<Replay>;
    /** Follow replays live, and reconnect if the connection is lost. */
    follow(options?: FollowOptions): Feed<Replay>;
  };
  events: {
    /** List a project’s events. */
    list(query?: ListEventsQuery, options?: RequestOptions): Listing<EventList>;
    /** Get an event. */
    get(eventId: string, options?: RequestOptions): Promise<Event>;
    /** Record a test event without sending it to webhooks or connectors. */
    recordTest(body: RecordTestEventRequest, options?: CreateOptions): Promise<Event>;
    /** Test which events a filter matches. */
    testFilter(body: TestEventFilterRequest, options?: CreateOptions): Promise<TestEventFilterResponse>;
    /** Export events as CSV or JSON Lines. */
    export(query?: ExportEventsQuery, options?: RequestOptions): Exported<Event>;
    /** Follow events live, and reconnect if the connection is lost. */
    follow(query?: Pick<ListEventsQuery, 'eventType'>, options?: FollowOptions): Feed<Event>;
  };
  payments: {
    /** List payments for a project’s endpoints. */
    list(query?: ListPaymentsQuery, options?: RequestOptions): Listing<PaymentList>;
    /** Get a payment. */
    get(paymentId: string, query?: GetPaymentQuery, options?: RequestOptions): Promise<Payment>;
    /** Export payments as CSV or JSON Lines. */
    export(query?: ExportPaymentsQuery, options?: RequestOptions): Exported<Payment>;
    /** Follow payments live, and reconnect if the connection is lost. */
    follow(query?: Omit<ListPaymentsQuery, 'limit' | 'after' | 'expand'>, options?: FollowOptions): Feed<Payment>;
  };
  customers: {
    /** List a project’s customers: wallets with a settled payment. */
    list(query?: ListCustomersQuery, options?: RequestOptions): Listing<CustomerList>;
    /** Get a customer. */
    get(customerId: string, options?: RequestOptions): Promise<Customer>;
    /** List a customer’s payments. */
    listPayments(customerId: string, query?: ListCustomerPaymentsQuery, options?: RequestOptions): Listing<PaymentList>;
    /** Export customers as CSV or JSON Lines. */
    export(query?: ExportCustomersQuery, options?: RequestOptions): Exported<Customer>;
  };
  revenue: {
    /** Get revenue by hour, day, or month, with the top endpoints and customers. */
    get(query?: GetRevenueQuery, options?: RequestOptions): Promise<Revenue>;
    /** Export revenue by hour, day, or month as CSV or JSON Lines. */
    export(query?: ExportRevenueQuery, options?: RequestOptions): Exported<RevenueBucket>;
  };
  deliveryStats: {
    /** Get delivery statistics by hour, day, or month: successes, failures, retries, and response times. */
    get(query?: GetDeliveryStatsQuery, options?: RequestOptions): Promise<DeliveryStats>;
  };
  members: {
    /** List a project’s members. */
    list(query?: ListMembersQuery, options?: RequestOptions): Listing<ProjectMemberList>;
    /** Get a member. */
    get(memberId: string, options?: RequestOptions): Promise<ProjectMember>;
    /** Change a member’s role. */
    update(memberId: string, body: UpdateMemberRequest, options?: RequestOptions): Promise<ProjectMember>;
    /** Remove a member, or leave a project. */
    remove(memberId: string, options?: RequestOptions): Promise<void>;
  };
  transfers: {
    /** List the projects offered to you. */
    listMine(query?: ListMyTransfersQuery, options?: RequestOptions): Listing<ProjectTransferList>;
    /** Become the owner of a project that was offered to you. */
    accept(transferId: string, body?: AcceptTransferRequest, options?: CreateOptions): Promise<Project>;
    /** Decline a project that was offered to you. */
    decline(
      transferId: string,
      body?: DeclineTransferRequest,
      options?: CreateOptions,
    ): Promise<DeclineTransferResponse>;
  };
  invitations: {
    /** List a project’s open invitations. */
    list(query?: ListInvitationsQuery, options?: RequestOptions): Listing<InvitationList>;
    /** Invite a person by email address. */
    invite(body: InviteMemberRequest, options?: CreateOptions): Promise<Invitation>;
    /** Get an open invitation. */
    get(invitationId: string, options?: RequestOptions): Promise<Invitation>;
    /** Revoke an invitation. */
    revoke(invitationId: string, options?: RequestOptions): Promise<void>;
    /** List the invitations that you can accept or decline. */
    listMine(query?: ListMyInvitationsQuery, options?: RequestOptions): Listing<InvitationList>;
    /** Accept an invitation. */
    accept(invitationId: string, body?: AcceptInvitationRequest, options?: CreateOptions): Promise<ProjectMember>;
    /** Decline an invitation. */
    decline(
      invitationId: string,
      body?: DeclineInvitationRequest,
      options?: CreateOptions,
    ): Promise<DeclineInvitationResponse>;
  };
  notices: {
    /** List a project’s notices. */
    list(query?: ListNoticesQuery, options?: RequestOptions): Listing<NoticeList>;
    /** Get a notice. */
    get(noticeId: string, options?: RequestOptions): Promise<Notice>;
    /** Mark the given notices, or all of them, as read. */
    markRead(body?: MarkNoticesReadRequest, options?: CreateOptions): Promise<MarkNoticesReadResponse>;
    /** Follow notices live, and reconnect if the connection is lost. */
    follow(options?: FollowOptions): Feed<Notice>;
  };
  contacts: {
    /** Get a project’s contacts. */
    get(options?: RequestOptions): Promise<Contacts>;
    /** Update a project’s contacts; `webhookSecret` is shown only once. */
    update(body: UpdateContactsRequest, options?: RequestOptions): Promise<UpdateContactsResponse>;
  };
  auditLog: {
    /** List entries in a project’s audit log. */
    list(query?: ListProjectAuditLogQuery, options?: RequestOptions): Listing<AuditEntryList>;
    /** Get an entry from a project’s audit log. */
    get(auditEntryId: string, options?: RequestOptions): Promise<AuditEntry>;
    /** Record a program’s call to a tool. */
    recordToolCall(body: RecordToolCallRequest, options?: CreateOptions): Promise<RecordToolCallResponse>;
    /** List audit log entries for all projects in the account. */
    listAllProjects(query?: ListAuditLogQuery, options?: RequestOptions): Listing<AuditEntryList>;
    /** List audit log entries about the account itself. */
    listAccount(query?: ListAccountLogQuery, options?: RequestOptions): Listing<AuditEntryList>;
    /** Export a project’s audit log as CSV or JSON Lines. */
    export(query?: ExportProjectAuditLogQuery, options?: RequestOptions): Exported<AuditEntry>;
  };
  search: {
    /** Search a project: up to 10 items of each type. */
    inProject(query: SearchProjectQuery, options?: RequestOptions): Promise<SearchResultList>;
    /** Search all projects that you can see. */
    inAllProjects(query: SearchQuery, options?: RequestOptions): Promise<SearchResultList>;
  };
  operator: {
    /** List the accounts that need attention, worst first; for operators only. */
    listAccountHealth(query?: ListAccountHealthQuery, options?: RequestOptions): Listing<AccountHealthList>;
    /** List users; for operators only. */
    listUsers(query?: ListUsersQuery, options?: RequestOptions): Listing<OperatorUserList>;
    /** Get a user and the number of resources in their account; for operators only. */
    getUser(userId: string, options?: RequestOptions): Promise<OperatorUserWithUsage>;
    /** Set a user’s tier and rate limit; for operators only. */
    updateUser(userId: string, body: UpdateUserRequest, options?: RequestOptions): Promise<OperatorUser>;
    /** Block an account, effective immediately; for operators only. */
    blockUser(userId: string, body: BlockUserRequest, options?: CreateOptions): Promise<OperatorUser>;
    /** Unblock an account; for operators only. */
    unblockUser(userId: string, body?: UnblockUserRequest, options?: CreateOptions): Promise<OperatorUser>;
    /** Resend all failed deliveries of an account, or count them; for operators only. */
    requeueDeliveries(
      userId: string,
      body?: RequeueDeliveriesRequest,
      options?: CreateOptions,
    ): Promise<RequeueDeliveriesResponse>;
  };
};

/** The operation behind each method. `{projectId}` comes from the options, except where it is an argument. */
export const OPERATIONS = {
  me: {
    get: { method: 'GET', path: '/api/me', arguments: [], takes: 'nothing', returns: 'one' },
  },
  projects: {
    list: { method: 'GET', path: '/api/projects', arguments: [], takes: 'query', returns: 'list' },
    create: { method: 'POST', path: '/api/projects', arguments: [], takes: 'body', returns: 'one' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}',
      arguments: ['projectId'],
      takes: 'nothing',
      returns: 'one',
    },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}',
      arguments: ['projectId'],
      takes: 'body',
      returns: 'one',
    },
    delete: {
      method: 'DELETE',
      path: '/api/projects/{projectId}',
      arguments: ['projectId'],
      takes: 'nothing',
      returns: 'one',
    },
    copy: {
      method: 'POST',
      path: '/api/projects/{projectId}/copy',
      arguments: ['projectId'],
      takes: 'body',
      returns: 'one',
    },
    transfer: {
      method: 'POST',
      path: '/api/projects/{projectId}/transfer',
      arguments: ['projectId'],
      takes: 'body',
      returns: 'one',
    },
    getTransfer: {
      method: 'GET',
      path: '/api/projects/{projectId}/transfer',
      arguments: ['projectId'],
      takes: 'nothing',
      returns: 'one',
    },
    withdrawTransfer: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/transfer',
      arguments: ['projectId'],
      takes: 'nothing',
      returns: 'one',
    },
  },
  upstreamSecret: {
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/upstream-secret',
      arguments: [],
      takes: 'nothing',
      returns: 'one',
    },
    rotate: {
      method: 'POST',
      path: '/api/projects/{projectId}/upstream-secret/rotate',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
  },
  gatewayHost: {
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/gateway-host',
      arguments: [],
      takes: 'nothing',
      returns: 'one',
    },
    verify: {
      method: 'POST',
      path: '/api/projects/{projectId}/gateway-host/verify',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
  },
  buyerRules: {
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/buyer-rules',
      arguments: [],
      takes: 'nothing',
      returns: 'one',
    },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}/buyer-rules',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    deny: {
      method: 'POST',
      path: '/api/projects/{projectId}/buyer-rules/deny',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    allow: {
      method: 'POST',
      path: '/api/projects/{projectId}/buyer-rules/allow',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
  },
  endpoints: {
    list: {
      method: 'GET',
      path: '/api/projects/{projectId}/endpoints',
      arguments: [],
      takes: 'query',
      returns: 'list',
    },
    create: {
      method: 'POST',
      path: '/api/projects/{projectId}/endpoints',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/endpoints/{endpointId}',
      arguments: ['endpointId'],
      takes: 'nothing',
      returns: 'one',
    },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}/endpoints/{endpointId}',
      arguments: ['endpointId'],
      takes: 'body',
      returns: 'one',
    },
    delete: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/endpoints/{endpointId}',
      arguments: ['endpointId'],
      takes: 'nothing',
      returns: 'one',
    },
    previewImport: {
      method: 'POST',
      path: '/api/projects/{projectId}/endpoints/import/preview',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    import: {
      method: 'POST',
      path: '/api/projects/{projectId}/endpoints/import',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
  },
  apiKeys: {
    list: { method: 'GET', path: '/api/projects/{projectId}/keys', arguments: [], takes: 'query', returns: 'list' },
    create: { method: 'POST', path: '/api/projects/{projectId}/keys', arguments: [], takes: 'body', returns: 'one' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/keys/{keyId}',
      arguments: ['keyId'],
      takes: 'nothing',
      returns: 'one',
    },
    revoke: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/keys/{keyId}',
      arguments: ['keyId'],
      takes: 'nothing',
      returns: 'one',
    },
  },
  connectors: {
    list: {
      method: 'GET',
      path: '/api/projects/{projectId}/connectors',
      arguments: [],
      takes: 'query',
      returns: 'list',
    },
    create: {
      method: 'POST',
      path: '/api/projects/{projectId}/connectors',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/connectors/{connectorId}',
      arguments: ['connectorId'],
      takes: 'nothing',
      returns: 'one',
    },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}/connectors/{connectorId}',
      arguments: ['connectorId'],
      takes: 'body',
      returns: 'one',
    },
    delete: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/connectors/{connectorId}',
      arguments: ['connectorId'],
      takes: 'nothing',
      returns: 'one',
    },
    listDeliveries: {
      method: 'GET',
      path: '/api/projects/{projectId}/connectors/{connectorId}/deliveries',
      arguments: ['connectorId'],
      takes: 'query',
      returns: 'list',
    },
    test: {
      method: 'POST',
      path: '/api/projects/{projectId}/connectors/{connectorId}/test',
      arguments: ['connectorId'],
      takes: 'body',
      returns: 'one',
    },
  },
  connectorTypes: {
    list: { method: 'GET', path: '/api/connector-types', arguments: [], takes: 'nothing', returns: 'list' },
  },
  webhooks: {
    list: { method: 'GET', path: '/api/projects/{projectId}/webhooks', arguments: [], takes: 'query', returns: 'list' },
    create: {
      method: 'POST',
      path: '/api/projects/{projectId}/webhooks',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/webhooks/{webhookId}',
      arguments: ['webhookId'],
      takes: 'nothing',
      returns: 'one',
    },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}/webhooks/{webhookId}',
      arguments: ['webhookId'],
      takes: 'body',
      returns: 'one',
    },
    delete: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/webhooks/{webhookId}',
      arguments: ['webhookId'],
      takes: 'nothing',
      returns: 'one',
    },
    listDeliveries: {
      method: 'GET',
      path: '/api/projects/{projectId}/webhooks/{webhookId}/deliveries',
      arguments: ['webhookId'],
      takes: 'query',
      returns: 'list',
    },
    rotateSecret: {
      method: 'POST',
      path: '/api/projects/{projectId}/webhooks/{webhookId}/rotate-secret',
      arguments: ['webhookId'],
      takes: 'body',
      returns: 'one',
    },
    sendTestEvent: {
      method: 'POST',
      path: '/api/projects/{projectId}/webhooks/{webhookId}/test',
      arguments: ['webhookId'],
      takes: 'body',
      returns: 'one',
    },
  },
  deliveries: {
    list: {
      method: 'GET',
      path: '/api/projects/{projectId}/deliveries',
      arguments: [],
      takes: 'query',
      returns: 'list',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/deliveries/{deliveryId}',
      arguments: ['deliveryId'],
      takes: 'query',
      returns: 'one',
    },
    explain: {
      method: 'GET',
      path: '/api/projects/{projectId}/deliveries/{deliveryId}/explain',
      arguments: ['deliveryId'],
      takes: 'nothing',
      returns: 'one',
    },
    resend: {
      method: 'POST',
      path: '/api/projects/{projectId}/deliveries/{deliveryId}/resend',
      arguments: ['deliveryId'],
      takes: 'body',
      returns: 'one',
    },
    export: {
      method: 'GET',
      path: '/api/projects/{projectId}/deliveries/export',
      arguments: [],
      takes: 'query',
      returns: 'export',
    },
  },
  replays: {
    list: { method: 'GET', path: '/api/projects/{projectId}/replays', arguments: [], takes: 'query', returns: 'list' },
    create: { method: 'POST', path: '/api/projects/{projectId}/replays', arguments: [], takes: 'body', returns: 'one' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/replays/{replayId}',
      arguments: ['replayId'],
      takes: 'nothing',
      returns: 'one',
    },
    cancel: {
      method: 'POST',
      path: '/api/projects/{projectId}/replays/{replayId}/cancel',
      arguments: ['replayId'],
      takes: 'body',
      returns: 'one',
    },
  },
  events: {
    list: { method: 'GET', path: '/api/projects/{projectId}/events', arguments: [], takes: 'query', returns: 'list' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/events/{eventId}',
      arguments: ['eventId'],
      takes: 'nothing',
      returns: 'one',
    },
    recordTest: {
      method: 'POST',
      path: '/api/projects/{projectId}/events/test',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    testFilter: {
      method: 'POST',
      path: '/api/projects/{projectId}/events/test-filter',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    export: {
      method: 'GET',
      path: '/api/projects/{projectId}/events/export',
      arguments: [],
      takes: 'query',
      returns: 'export',
    },
  },
  payments: {
    list: { method: 'GET', path: '/api/projects/{projectId}/payments', arguments: [], takes: 'query', returns: 'list' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/payments/{paymentId}',
      arguments: ['paymentId'],
      takes: 'query',
      returns: 'one',
    },
    export: {
      method: 'GET',
      path: '/api/projects/{projectId}/payments/export',
      arguments: [],
      takes: 'query',
      returns: 'export',
    },
  },
  customers: {
    list: {
      method: 'GET',
      path: '/api/projects/{projectId}/customers',
      arguments: [],
      takes: 'query',
      returns: 'list',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/customers/{customerId}',
      arguments: ['customerId'],
      takes: 'nothing',
      returns: 'one',
    },
    listPayments: {
      method: 'GET',
      path: '/api/projects/{projectId}/customers/{customerId}/payments',
      arguments: ['customerId'],
      takes: 'query',
      returns: 'list',
    },
    export: {
      method: 'GET',
      path: '/api/projects/{projectId}/customers/export',
      arguments: [],
      takes: 'query',
      returns: 'export',
    },
  },
  revenue: {
    get: { method: 'GET', path: '/api/projects/{projectId}/revenue', arguments: [], takes: 'query', returns: 'one' },
    export: {
      method: 'GET',
      path: '/api/projects/{projectId}/revenue/export',
      arguments: [],
      takes: 'query',
      returns: 'export',
    },
  },
  deliveryStats: {
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/delivery-stats',
      arguments: [],
      takes: 'query',
      returns: 'one',
    },
  },
  members: {
    list: { method: 'GET', path: '/api/projects/{projectId}/members', arguments: [], takes: 'query', returns: 'list' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/members/{memberId}',
      arguments: ['memberId'],
      takes: 'nothing',
      returns: 'one',
    },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}/members/{memberId}',
      arguments: ['memberId'],
      takes: 'body',
      returns: 'one',
    },
    remove: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/members/{memberId}',
      arguments: ['memberId'],
      takes: 'nothing',
      returns: 'one',
    },
  },
  transfers: {
    listMine: { method: 'GET', path: '/api/transfers', arguments: [], takes: 'query', returns: 'list' },
    accept: {
      method: 'POST',
      path: '/api/transfers/{transferId}/accept',
      arguments: ['transferId'],
      takes: 'body',
      returns: 'one',
    },
    decline: {
      method: 'POST',
      path: '/api/transfers/{transferId}/decline',
      arguments: ['transferId'],
      takes: 'body',
      returns: 'one',
    },
  },
  invitations: {
    list: {
      method: 'GET',
      path: '/api/projects/{projectId}/invitations',
      arguments: [],
      takes: 'query',
      returns: 'list',
    },
    invite: {
      method: 'POST',
      path: '/api/projects/{projectId}/invitations',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/invitations/{invitationId}',
      arguments: ['invitationId'],
      takes: 'nothing',
      returns: 'one',
    },
    revoke: {
      method: 'DELETE',
      path: '/api/projects/{projectId}/invitations/{invitationId}',
      arguments: ['invitationId'],
      takes: 'nothing',
      returns: 'one',
    },
    listMine: { method: 'GET', path: '/api/invitations', arguments: [], takes: 'query', returns: 'list' },
    accept: {
      method: 'POST',
      path: '/api/invitations/{invitationId}/accept',
      arguments: ['invitationId'],
      takes: 'body',
      returns: 'one',
    },
    decline: {
      method: 'POST',
      path: '/api/invitations/{invitationId}/decline',
      arguments: ['invitationId'],
      takes: 'body',
      returns: 'one',
    },
  },
  notices: {
    list: { method: 'GET', path: '/api/projects/{projectId}/notices', arguments: [], takes: 'query', returns: 'list' },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/notices/{noticeId}',
      arguments: ['noticeId'],
      takes: 'nothing',
      returns: 'one',
    },
    markRead: {
      method: 'POST',
      path: '/api/projects/{projectId}/notices/read',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
  },
  contacts: {
    get: { method: 'GET', path: '/api/projects/{projectId}/contacts', arguments: [], takes: 'nothing', returns: 'one' },
    update: {
      method: 'PATCH',
      path: '/api/projects/{projectId}/contacts',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
  },
  auditLog: {
    list: {
      method: 'GET',
      path: '/api/projects/{projectId}/audit-log',
      arguments: [],
      takes: 'query',
      returns: 'list',
    },
    get: {
      method: 'GET',
      path: '/api/projects/{projectId}/audit-log/{auditEntryId}',
      arguments: ['auditEntryId'],
      takes: 'nothing',
      returns: 'one',
    },
    recordToolCall: {
      method: 'POST',
      path: '/api/projects/{projectId}/audit-log/tool-calls',
      arguments: [],
      takes: 'body',
      returns: 'one',
    },
    listAllProjects: { method: 'GET', path: '/api/audit-log', arguments: [], takes: 'query', returns: 'list' },
    listAccount: { method: 'GET', path: '/api/audit-log/account', arguments: [], takes: 'query', returns: 'list' },
    export: {
      method: 'GET',
      path: '/api/projects/{projectId}/audit-log/export',
      arguments: [],
      takes: 'query',
      returns: 'export',
    },
  },
  search: {
    inProject: {
      method: 'GET',
      path: '/api/projects/{projectId}/search',
      arguments: [],
      takes: 'query',
      returns: 'one',
    },
    inAllProjects: { method: 'GET', path: '/api/search', arguments: [], takes: 'query', returns: 'one' },
  },
  operator: {
    listAccountHealth: { method: 'GET', path: '/api/operator/health', arguments: [], takes: 'query', returns: 'list' },
    listUsers: { method: 'GET', path: '/api/operator/users', arguments: [], takes: 'query', returns: 'list' },
    getUser: {
      method: 'GET',
      path: '/api/operator/users/{userId}',
      arguments: ['userId'],
      takes: 'nothing',
      returns: 'one',
    },
    updateUser: {
      method: 'PATCH',
      path: '/api/operator/users/{userId}',
      arguments: ['userId'],
      takes: 'body',
      returns: 'one',
    },
    blockUser: {
      method: 'POST',
      path: '/api/operator/users/{userId}/block',
      arguments: ['userId'],
      takes: 'body',
      returns: 'one',
    },
    unblockUser: {
      method: 'POST',
      path: '/api/operator/users/{userId}/unblock',
      arguments: ['userId'],
      takes: 'body',
      returns: 'one',
    },
    requeueDeliveries: {
      method: 'POST',
      path: '/api/operator/users/{userId}/requeue',
      arguments: ['userId'],
      takes: 'body',
      returns: 'one',
    },
  },
} as const;

/** Fields of the items that clients can follow live. Fields in `enums` have different values in GraphQL. */
export const LIVE_FIELDS = {
  events: {
    selection: 'id projectId type version test timestamp data filteredOut',
    enums: {
      type: [
        'customer.first_payment',
        'customer.milestone',
        'endpoint.created',
        'endpoint.pricing_changed',
        'payment.failed',
        'payment.settled',
        'payment.verified',
        'revenue.daily_summary',
      ],
    },
  },
  deliveries: {
    selection:
      'id projectId webhookId connectorId eventId eventType status reason statusCode responseTimeMs errorClass attemptCount retryCount nextAttemptAt createdAt updatedAt completedAt',
    enums: {
      eventType: [
        'customer.first_payment',
        'customer.milestone',
        'endpoint.created',
        'endpoint.pricing_changed',
        'payment.failed',
        'payment.settled',
        'payment.verified',
        'revenue.daily_summary',
      ],
    },
  },
  payments: {
    selection:
      'id projectId endpointId endpointPath method customerId status failureStage failureReason failureMessage amountUsd amountAtomic asset assetAddress network payer payTo nonce x402Version identifier settlement unservedReason upstreamCallCount upstreamStatusCode upstreamDurationMs transactionHash explorerUrl validBefore createdAt verifiedAt servedAt settledAt updatedAt',
    enums: {},
  },
  replays: {
    selection: 'id projectId status filter maxPerSecond total done skipped startedBy createdAt updatedAt finishedAt',
    enums: {},
  },
  notices: {
    selection: 'id projectId type subjectId title cause advice url count firstAt lastAt closedAt readAt updatedAt',
    enums: {
      type: [
        'api_key.expired',
        'api_key.expiring',
        'credential.expiring',
        'deliveries.expiring',
        'delivery.held',
        'destination.disabled',
        'destination.failing',
        'destination.paused',
        'destination.recovered',
        'facilitator.unreachable',
        'host.failing',
        'host.lost',
        'payment.uncertain',
        'transfer.accepted',
        'transfer.declined',
        'transfer.offered',
        'vendor.shutdown',
      ],
    },
  },
};
