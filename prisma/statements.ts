// Written by `npm run generate:sql`. The types of the statements in `src/`, as PostgreSQL describes them.
import type { ArrayLiteral } from '../src/database/array-literal.ts';
import type { Int8, Json, Numeric } from '../src/database/column-types.ts';

type List<Value> = readonly (Value | null | undefined)[] | ArrayLiteral;
type Time = Date | string;
type Whole = number | bigint | string;

type AttemptTrigger = 'SCHEDULED' | 'MANUAL';
type AuditActor = 'USER' | 'API_KEY' | 'OPERATOR';
type DeliveryRollupInterval = 'HOUR' | 'DAY';
type DeliveryStatus = 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'SKIPPED';
type EndpointProtocol = 'HTTP' | 'MCP';
type PaymentStage = 'VERIFY' | 'UPSTREAM' | 'SETTLE';
type PaymentStatus = 'CLAIMED' | 'VERIFIED' | 'SERVED' | 'SETTLING' | 'SETTLED' | 'FAILED' | 'UNKNOWN';
type ProjectMode = 'LIVE' | 'TEST';
type SettlementOrder = 'AFTER_RESPONSE' | 'BEFORE_REQUEST';
type Tier = 'STARTER' | 'PRO' | 'BUSINESS' | 'ENTERPRISE';
type TierSetter = 'ISSUER' | 'OPERATOR';
type WebhookOrdering = 'NONE' | 'PAYMENT';

export type StatementTypes = {
  "api-key-by-hash": {
    values: [List<string>];
    row: {
      "id": string;
      "projectId": string;
      "hash": string;
      "isRevoked": boolean;
      "expiresAt": Date | null;
      "isExpired": boolean;
      "scopes": string[];
      "allowedAddresses": string[];
      "isUseNoted": boolean;
      "userId": string;
      "tier": Tier;
      "requestsPerMinute": number | null;
      "blockedReason": string;
    };
  };
  "api-key-note-use": {
    values: [string, string];
    row: object;
  };
  "api-keys-count": {
    values: [List<string>, Whole];
    row: {
      "id": string;
      "count": number;
    };
  };
  "api-keys-count-older": {
    values: [string];
    row: {
      "count": number;
    };
  };
  "api-keys-first": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "api-keys-last": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "audit-move": {
    values: [string, string, Whole];
    row: object;
  };
  "audit-record": {
    values: [string, string, string, AuditActor, string, string, string, string, string, string];
    row: object;
  };
  "bus-notify": {
    values: [string, string];
    row: {
      "pg_notify": string;
    };
  };
  "buyer-usage-count": {
    values: [List<string>, List<number>, List<number>, List<Whole>, List<string>, List<string>, List<string>, List<Time>];
    row: {
      "id": string;
      "isCounted": boolean;
      "requestCount": number;
      "spentAtomic": string;
      "endsAt": Date;
    };
  };
  "buyer-usage-delete-ended": {
    values: [Whole];
    row: object;
  };
  "buyer-usage-open": {
    values: [List<string>, List<string>, List<string>, List<Time>];
    row: object;
  };
  "clock-read": {
    values: [];
    row: {
      "now": number;
    };
  };
  "connections-close-idle": {
    values: [List<string>, Time];
    row: {
      "found": number;
      "closed": Int8;
    };
  };
  "connector-authorization-start": {
    values: [string, string, string, string];
    row: object;
  };
  "connector-authorization-take": {
    values: [string, string];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "connector-authorizations-delete-expired": {
    values: [Whole];
    row: object;
  };
  "connector-pause": {
    values: [List<string>, List<string>, List<string>, List<number>];
    row: {
      "id": string;
      "projectId": string;
      "reason": string;
    };
  };
  "connector-probe-claim-due": {
    values: [Whole, List<number>];
    row: {
      "id": string;
      "projectId": string;
      "type": string;
      "secretConfig": string;
      "pausedAt": Date | null;
    };
  };
  "connector-remember": {
    values: [string];
    row: object;
  };
  "connector-resume": {
    values: [string, Time, string];
    row: object;
  };
  "connector-tokens-find-idle": {
    values: [List<string>];
    row: {
      "id": string;
      "projectId": string;
      "type": string;
      "secretConfig": string;
    };
  };
  "connectors-count": {
    values: [List<string>, Whole];
    row: {
      "id": string;
      "count": number;
    };
  };
  "connectors-first": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "connectors-last": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "count-connectors": {
    values: [string];
    row: {
      "count": number;
    };
  };
  "database-time": {
    values: [];
    row: {
      "now": Date;
    };
  };
  "day-limit-record": {
    values: [List<string>, List<number>, number];
    row: {
      "key": string;
      "ahead": number;
    };
  };
  "day-limit-take": {
    values: [List<string>, List<number>, number];
    row: {
      "key": string;
    };
  };
  "deleted-count": {
    values: [];
    row: {
      "count": number;
    };
  };
  "deleted-customer-revenue": {
    values: [string, Whole];
    row: object;
  };
  "deleted-customers": {
    values: [string, Whole];
    row: object;
  };
  "deleted-deliveries-Connector": {
    values: [string, Whole];
    row: object;
  };
  "deleted-deliveries-Project": {
    values: [string, Whole];
    row: object;
  };
  "deleted-deliveries-Webhook": {
    values: [string, Whole];
    row: object;
  };
  "deleted-events": {
    values: [string, Whole];
    row: object;
  };
  "deleted-lock-next-Connector": {
    values: [string, string, string];
    row: {
      "id": string;
    };
  };
  "deleted-lock-next-Project": {
    values: [string, string, string];
    row: {
      "id": string;
    };
  };
  "deleted-lock-next-Webhook": {
    values: [string, string, string];
    row: {
      "id": string;
    };
  };
  "deleted-open-payment": {
    values: [string];
    row: object;
  };
  "deleted-payments": {
    values: [string, Whole];
    row: object;
  };
  "deleted-row-Connector": {
    values: [string];
    row: object;
  };
  "deleted-row-Project": {
    values: [string];
    row: object;
  };
  "deleted-row-Webhook": {
    values: [string];
    row: object;
  };
  "deliveries-delete-orphans": {
    values: [string, string, string];
    row: object;
  };
  "delivery-changed-destinations": {
    values: [List<string>, List<number>];
    row: {
      "id": string;
    };
  };
  "delivery-earlier-attempts": {
    values: [string, number];
    row: {
      "number": number;
      "trigger": AttemptTrigger;
      "errorClass": string | null;
    };
  };
  "delivery-explanation-event": {
    values: [string];
    row: {
      "id": string;
      "type": string;
      "version": number;
      "test": boolean;
      "timestamp": Date;
      "data": string;
      "projectName": string;
      "now": Date;
    };
  };
  "delivery-stats-closed-hour": {
    values: [];
    row: {
      "closed": Date;
    };
  };
  "delivery-stats-delete-empty": {
    values: [string, Time];
    row: object;
  };
  "delivery-stats-find-changed": {
    values: [];
    row: {
      "projectId": string;
    };
  };
  "delivery-stats-find-projects": {
    values: [string, Time];
    row: {
      "id": string;
      "isDue": boolean;
    };
  };
  "delivery-stats-forget-deleted": {
    values: [];
    row: object;
  };
  "delivery-stats-keep-project": {
    values: [string];
    row: object;
  };
  "delivery-stats-lock": {
    values: [Whole];
    row: {
      "pg_advisory_xact_lock": string;
    };
  };
  "delivery-stats-note-hours": {
    values: [];
    row: object;
  };
  "delivery-stats-read": {
    values: [string, Time, Time, string, DeliveryRollupInterval, Whole];
    row: {
      "start": Date;
      "succeededCount": number;
      "failedCount": number;
      "skippedCount": number;
      "retriedCount": number;
      "responseTimeP50Ms": number;
      "responseTimeP95Ms": number;
      "isPartial": boolean;
    };
  };
  "delivery-stats-skip-unfinished": {
    values: [string, Time];
    row: object;
  };
  "delivery-stats-try-lock": {
    values: [Whole];
    row: {
      "isOurs": boolean;
    };
  };
  "delivery_claim_due": {
    values: [Whole, number, List<string>, List<number>, number, number, List<string>, List<number>, number, List<string>, List<number>, number, List<string>, List<string>, List<number>, List<string>, List<number>, number];
    row: {
      "id": string;
      "projectId": string;
      "destination": string;
      "trigger": string;
      "isUrgent": boolean;
      "attemptCount": number;
      "retryStep": number;
      "leaseToken": number;
      "errorClass": string;
      "orderingKey": string;
      "ageSeconds": number;
      "eventId": string;
      "type": string;
      "version": number;
      "test": boolean;
      "timestamp": Date;
      "data": string;
      "traceContext": string;
      "meta": Json;
    };
  };
  "delivery_claim_in_turn": {
    values: [Whole, number, List<string>, List<number>, number, Whole, List<string>, List<number>, number, List<string>, List<number>, number, List<string>, List<string>, List<number>, List<string>, List<number>, List<string>, List<number>, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "destination": string;
      "trigger": string;
      "isUrgent": boolean;
      "attemptCount": number;
      "retryStep": number;
      "leaseToken": number;
      "errorClass": string;
      "orderingKey": string;
      "ageSeconds": number;
      "eventId": string;
      "type": string;
      "version": number;
      "test": boolean;
      "timestamp": Date;
      "data": string;
      "traceContext": string;
      "meta": Json;
    };
  };
  "delivery_claim_parked": {
    values: [Whole, number, List<string>, List<number>, number, number, List<string>, List<number>, number, List<string>, List<number>, number, List<string>, List<string>, List<number>, string, number, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "destination": string;
      "trigger": string;
      "isUrgent": boolean;
      "attemptCount": number;
      "retryStep": number;
      "leaseToken": number;
      "errorClass": string;
      "orderingKey": string;
      "ageSeconds": number;
      "eventId": string;
      "type": string;
      "version": number;
      "test": boolean;
      "timestamp": Date;
      "data": string;
      "traceContext": string;
      "meta": Json;
    };
  };
  "delivery_count_day": {
    values: [string, Time];
    row: object;
  };
  "delivery_count_hour": {
    values: [string, Time, boolean];
    row: {
      "hour": Date;
    };
  };
  "delivery_extend": {
    values: [List<string>, List<number>, number];
    row: {
      "id": string;
    };
  };
  "delivery_find": {
    values: [string];
    row: object;
  };
  "delivery_hold-connector": {
    values: [string, number];
    row: object;
  };
  "delivery_hold-webhook": {
    values: [string, number];
    row: object;
  };
  "delivery_lock_keys": {
    values: [List<string>, List<string>];
    row: {
      "pg_advisory_xact_lock": string;
    };
  };
  "delivery_move_slot": {
    values: [string, number, Time];
    row: object;
  };
  "delivery_park": {
    values: [List<string>, Whole, List<number>];
    row: object;
  };
  "delivery_park_newest": {
    values: [List<string>, Whole, List<number>];
    row: object;
  };
  "delivery_queue_stats": {
    values: [Whole];
    row: {
      "pending": number;
      "running": number;
      "oldestDueSeconds": number;
    };
  };
  "delivery_read_slots": {
    values: [List<string>];
    row: {
      "id": string;
      "maxPerSecond": number;
      "lastSlot": number;
    };
  };
  "delivery_recheck_waiting": {
    values: [];
    row: object;
  };
  "delivery_record": {
    values: [List<string>, List<number>, List<string>, List<string>, List<number>, List<number>, List<number>, List<number>, List<number>, List<string>, List<boolean>, List<string>, List<string>, List<number>, List<string>, List<number>, List<number>, List<number>, List<string>, List<string>, List<string>, List<number>, List<number>, List<number>, List<number>, List<string>, List<string>, List<boolean>, string, string, List<string>, List<string>, List<string>, List<string>, List<number>, List<boolean>];
    row: {
      "id": string;
      "projectId": string;
      "reason": string;
    };
  };
  "delivery_release": {
    values: [List<string>, List<number>, string];
    row: object;
  };
  "delivery_release_disabled": {
    values: [number];
    row: object;
  };
  "delivery_release_followers": {
    values: [List<string>, List<string>];
    row: object;
  };
  "delivery_release_held": {
    values: [string, number];
    row: object;
  };
  "delivery_release_stranded": {
    values: [number];
    row: object;
  };
  "delivery_release_waiting": {
    values: [string, boolean];
    row: object;
  };
  "delivery_requeue": {
    values: [string];
    row: object;
  };
  "delivery_reserve": {
    values: [string, number, number, number, number];
    row: {
      "lastSlot": number;
      "storedAs": string;
    };
  };
  "delivery_skip-connector": {
    values: [string, number];
    row: object;
  };
  "delivery_skip-webhook": {
    values: [string, number];
    row: object;
  };
  "delivery_skip_older": {
    values: [Time, Whole];
    row: object;
  };
  "destination-clear-failing-connector": {
    values: [List<string>];
    row: object;
  };
  "destination-clear-failing-webhook": {
    values: [List<string>];
    row: object;
  };
  "destination-disable-connector": {
    values: [List<string>, List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "reason": string;
    };
  };
  "destination-disable-failing-connector": {
    values: [string, number, Whole, string, List<string>, number];
    row: {
      "projectId": string;
    };
  };
  "destination-disable-failing-webhook": {
    values: [string, number, Whole, string, List<string>, number];
    row: {
      "projectId": string;
    };
  };
  "destination-disable-webhook": {
    values: [List<string>, List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "reason": string;
    };
  };
  "destination-find-failing-connector": {
    values: [string, number];
    row: {
      "failingSince": Date | null;
    };
  };
  "destination-find-failing-webhook": {
    values: [string, number];
    row: {
      "failingSince": Date | null;
    };
  };
  "destination-mark-failing-connector": {
    values: [List<string>];
    row: object;
  };
  "destination-mark-failing-webhook": {
    values: [List<string>];
    row: object;
  };
  "destination-open-circuits-connector": {
    values: [List<string>, List<number>];
    row: object;
  };
  "destination-open-circuits-webhook": {
    values: [List<string>, List<number>];
    row: object;
  };
  "destinations-count-problems": {
    values: [];
    row: {
      "kind": string;
      "state": string;
      "count": number;
    };
  };
  "digest-claim": {
    values: [string, Time];
    row: object;
  };
  "digest-customers": {
    values: [string, Time];
    row: {
      "customerCount": number;
      "newCustomerCount": number;
    };
  };
  "digest-deliveries": {
    values: [string, Time];
    row: {
      "succeeded": number;
      "failed": number;
      "skipped": number;
    };
  };
  "digest-failures": {
    values: [string, Time];
    row: {
      "of": string;
      "cause": string;
      "count": number;
    };
  };
  "digest-find-due": {
    values: [List<string>];
    row: {
      "projectId": string;
      "emails": string[];
      "hasWebhook": boolean;
      "hasSlack": boolean;
      "week": string;
      "projectName": string;
    };
  };
  "digest-revenue": {
    values: [string, Time];
    row: {
      "total": string;
      "paymentCount": number;
      "failedPaymentCount": number;
    };
  };
  "digest-slowest": {
    values: [string, Time];
    row: {
      "destinationId": string;
      "deliveryCount": number;
      "p95Ms": number;
      "type": string;
      "name": string;
    };
  };
  "digests-delete-old": {
    values: [Whole];
    row: object;
  };
  "endpoint-count-schema-bytes": {
    values: [string, number];
    row: {
      "bytes": number;
    };
  };
  "endpoint-history": {
    values: [string, string, string, string, List<string>, string, Time];
    row: {
      "faults": Date[];
      "settledAt": Date;
    };
  };
  "endpoint-insert": {
    values: [string, string, string, string, string, boolean, List<string>, List<string>, string, EndpointProtocol, SettlementOrder, number, string, List<string>, string, string, string, Whole, List<string>, List<string>, List<string>, List<number>, List<boolean>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<boolean>, List<Time>, string, string, string, AuditActor, string, string, string, string, string, string];
    row: {
      "id": string;
      "projectId": string;
      "path": string;
      "upstreamUrl": string;
      "priceAtomic": Numeric;
      "description": string | null;
      "isActive": boolean;
      "createdAt": Date;
      "updatedAt": Date;
      "forwardedHeaders": string[];
      "methods": string[];
      "upstreamHeaders": Json | null;
      "secretUpstreamHeaders": string | null;
      "settlement": SettlementOrder;
      "timeoutSeconds": number | null;
      "mimeType": string | null;
      "inputSchema": Json | null;
      "exampleResponse": Json | null;
      "tags": string[];
      "protocol": EndpointProtocol;
    };
  };
  "endpoint-overlapping-key": {
    values: [string, string, string, string];
    row: {
      "id": string;
      "path": string;
      "methods": string[];
    };
  };
  "endpoint-overlapping-own": {
    values: [string, string, string, string];
    row: {
      "id": string;
      "path": string;
      "methods": string[];
    };
  };
  "endpoint-overlapping-shared": {
    values: [string, string, string, List<string>];
    row: {
      "id": string;
      "path": string;
      "methods": string[];
    };
  };
  "endpoints-count": {
    values: [List<string>, Whole];
    row: {
      "id": string;
      "count": number;
    };
  };
  "endpoints-first": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "endpoints-last": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "event-destination": {
    values: [List<string>, string];
    row: {
      "id": string;
      "projectId": string;
      "isActive": boolean;
      "isPaused": boolean;
      "filter": Json;
      "eventTypes": string[];
      "ordering": WebhookOrdering;
      "type": string;
    };
  };
  "event-destinations": {
    values: [List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "isActive": boolean;
      "isPaused": boolean;
      "filter": Json;
      "eventTypes": string[];
      "ordering": WebhookOrdering;
      "type": string;
    };
  };
  "event-destinations-visible-key": {
    values: [string, List<string>, string];
    row: {
      "id": string;
      "projectId": string;
      "isActive": boolean;
      "isPaused": boolean;
      "filter": Json;
      "eventTypes": string[];
      "ordering": WebhookOrdering;
      "type": string;
    };
  };
  "event-destinations-visible-own": {
    values: [string, List<string>, string];
    row: {
      "id": string;
      "projectId": string;
      "isActive": boolean;
      "isPaused": boolean;
      "filter": Json;
      "eventTypes": string[];
      "ordering": WebhookOrdering;
      "type": string;
    };
  };
  "event-destinations-visible-shared": {
    values: [string, List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "isActive": boolean;
      "isPaused": boolean;
      "filter": Json;
      "eventTypes": string[];
      "ordering": WebhookOrdering;
      "type": string;
    };
  };
  "event-write": {
    values: [List<string>, List<string>, List<string>, List<number>, List<boolean>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<boolean>, List<Time>];
    row: object;
  };
  "events-about-Customer": {
    values: [string, string, string, string];
    row: {
      "id": string;
    };
  };
  "events-about-Endpoint": {
    values: [string, string, string, string];
    row: {
      "id": string;
    };
  };
  "events-about-Payment": {
    values: [string, string, string, string];
    row: {
      "id": string;
    };
  };
  "filtered-out-delete-old": {
    values: [number];
    row: object;
  };
  "filtered-out-move": {
    values: [string];
    row: object;
  };
  "filtered-out-read": {
    values: [string, Time, Time, Whole];
    row: {
      "destinationId": string;
      "count": number;
      "isPartial": boolean;
    };
  };
  "filtered_out_count": {
    values: [string, string];
    row: object;
  };
  "filtered_out_step": {
    values: [string];
    row: {
      "from": string;
      "until": string;
    };
  };
  "gateway-catalog": {
    values: [string, Whole, Whole, Whole];
    row: {
      "name": string;
      "description": string | null;
      "iconUrl": string | null;
      "contact": string | null;
      "active": number;
      "offers": string;
    };
  };
  "gateway-details": {
    values: [string];
    row: {
      "inputSchema": Json | null;
      "exampleResponse": Json | null;
      "bytes": number;
    };
  };
  "gateway-hosts": {
    values: [string, List<string>];
    row: {
      "bucket": number;
      "version": string;
      "hosts": Json;
    };
  };
  "gateway-routes": {
    values: [string];
    row: {
      "accountId": string;
      "endpointId": string;
      "isActive": boolean;
      "path": string;
      "description": string | null;
      "upstreamUrl": string;
      "forwardedHeaders": string[];
      "methods": string[];
      "protocol": EndpointProtocol;
      "settlement": SettlementOrder;
      "timeoutSeconds": number | null;
      "isBlocked": boolean;
      "secretUpstreamHeaders": string | null;
      "secretProjectHeaders": string;
      "upstreamSecretVersion": number;
      "previousUpstreamSecretExpiresAt": Date | null;
      "payTo": string;
      "mode": ProjectMode;
      "networks": string[];
      "priceAtomic": string;
      "previousPrices": Json;
      "buyers": Json;
      "offer": Json;
      "version": string;
    };
  };
  "gateway-routes-version": {
    values: [string];
    row: {
      "version": string;
    };
  };
  "health-of-accounts": {
    values: [List<number>, string, List<number>, string, Whole];
    row: {
      "id": string;
      "issuer": string;
      "subject": string;
      "blockedAt": Date | null;
      "userId": string;
      "unresolvedPaymentCount": number;
      "unresolvedSince": Date;
      "disabledDestinationCount": number;
      "pausedDestinationCount": number;
      "failingDestinationCount": number;
      "failedDeliveryCount": number;
      "overdueDeliveryCount": number;
      "overdueSince": Date;
      "rank": number[];
    };
  };
  "health-of-accounts-backwards": {
    values: [List<number>, string, List<number>, string, Whole];
    row: {
      "id": string;
      "issuer": string;
      "subject": string;
      "blockedAt": Date | null;
      "userId": string;
      "unresolvedPaymentCount": number;
      "unresolvedSince": Date;
      "disabledDestinationCount": number;
      "pausedDestinationCount": number;
      "failingDestinationCount": number;
      "failedDeliveryCount": number;
      "overdueDeliveryCount": number;
      "overdueSince": Date;
      "rank": number[];
    };
  };
  "host-claim-adopt": {
    values: [];
    row: object;
  };
  "host-claim-claim-due": {
    values: [Whole, boolean, string];
    row: {
      "projectId": string;
      "host": string;
      "token": string;
      "verifiedAt": Date | null;
    };
  };
  "host-claim-delete-unused": {
    values: [string, string];
    row: object;
  };
  "host-claim-first-check": {
    values: [string];
    row: {
      "at": Date;
    };
  };
  "host-claim-record-failed": {
    values: [string, string, string, string];
    row: {
      "isOver": boolean;
    };
  };
  "host-claim-record-pending": {
    values: [string, string, string];
    row: object;
  };
  "host-claim-record-proved": {
    values: [string, string];
    row: object;
  };
  "host-claim-set-lost": {
    values: [string, string, string];
    row: object;
  };
  "host-claim-set-verified": {
    values: [string, string];
    row: object;
  };
  "host-lock": {
    values: [string];
    row: {
      "gatewayHost": string | null;
    };
  };
  "host-notice-set-reason": {
    values: [string, string, string];
    row: object;
  };
  "host-queue": {
    values: [number];
    row: {
      "timeout": string;
    };
  };
  "host-take-from-project": {
    values: [string, string];
    row: object;
  };
  "idempotency-key-abandon": {
    values: [string, string, Time];
    row: object;
  };
  "idempotency-key-claim": {
    values: [string, string, string];
    row: {
      "startedAt": string;
    };
  };
  "idempotency-key-finish": {
    values: [string, string, Time, number, string];
    row: object;
  };
  "idempotency-key-mark": {
    values: [string, string, Time];
    row: object;
  };
  "idempotency-key-read": {
    values: [string, string];
    row: {
      "fingerprint": string;
      "response": string | null;
      "isDone": boolean;
    };
  };
  "idempotency-keys-delete-expired": {
    values: [Whole];
    row: object;
  };
  "index-read-next-partition": {
    values: [string, string];
    row: {
      "name": string;
    };
  };
  "index-read-progress": {
    values: [number];
    row: {
      "phase": string | null;
      "percent": number;
      "blocker": number | null;
      "application": string | null;
      "since": Date | null;
    };
  };
  "index-read-table-kind": {
    values: [string];
    row: {
      "relkind": string;
    };
  };
  "index-read-validity": {
    values: [string];
    row: {
      "indisvalid": boolean;
    };
  };
  "index-table-exists": {
    values: [string];
    row: {
      "exists": boolean;
    };
  };
  "index-try-lock": {
    values: [Whole];
    row: {
      "isOurs": boolean;
      "pid": number;
    };
  };
  "installation-hold": {
    values: [];
    row: object;
  };
  "installation-place": {
    values: [];
    row: {
      "identity": string;
      "timeline": number;
      "hasTarget": boolean;
    };
  };
  "installation-read": {
    values: [];
    row: {
      "identity": string;
      "timeline": number;
      "isRequested": boolean;
    };
  };
  "installation-record-adopt": {
    values: [string, number];
    row: object;
  };
  "installation-record-keep": {
    values: [string, number];
    row: object;
  };
  "installation-record-replace": {
    values: [string, number];
    row: object;
  };
  "invitation-find-open": {
    values: [string];
    row: object;
  };
  "invitation-write-mail": {
    values: [string, string, string, Whole];
    row: object;
  };
  "invitations-delete-ended": {
    values: [Whole];
    row: object;
  };
  "keep-project": {
    values: [string];
    row: {
      "found": number;
    };
  };
  "live-Delivery": {
    values: [string, Time, Time, string, string, List<Whole>, List<string>, List<string>, Time, Time, string, string, string, Time, Time];
    row: {
      "horizon": string;
      "newest": string;
      "nowMilliseconds": number;
      "id": string;
      "milliseconds": number;
      "transaction": string;
      "isLate": boolean;
    };
  };
  "live-Notice": {
    values: [string, Time, Time, string, string, List<Whole>];
    row: {
      "horizon": string;
      "newest": string;
      "nowMilliseconds": number;
      "id": string;
      "milliseconds": number;
      "transaction": string;
      "isLate": boolean;
    };
  };
  "live-Payment": {
    values: [string, Time, Time, string, string, List<Whole>, List<string>, string, string, string, string, string, string, string, Whole, Whole, Time, Time];
    row: {
      "horizon": string;
      "newest": string;
      "nowMilliseconds": number;
      "id": string;
      "milliseconds": number;
      "transaction": string;
      "isLate": boolean;
    };
  };
  "live-Replay": {
    values: [string, Time, Time, string, string, List<Whole>];
    row: {
      "horizon": string;
      "newest": string;
      "nowMilliseconds": number;
      "id": string;
      "milliseconds": number;
      "transaction": string;
      "isLate": boolean;
    };
  };
  "live-events": {
    values: [string, string, string, string, List<Whole>, List<string>];
    row: {
      "horizon": string;
      "newest": string;
      "nowMilliseconds": number;
      "id": string;
      "milliseconds": number;
      "transaction": string;
      "isLate": boolean;
    };
  };
  "live-newest-Delivery": {
    values: [string];
    row: {
      "id": string;
      "updatedAt": Date;
    };
  };
  "live-newest-Notice": {
    values: [string];
    row: {
      "id": string;
      "updatedAt": Date;
    };
  };
  "live-newest-Payment": {
    values: [string];
    row: {
      "id": string;
      "updatedAt": Date;
    };
  };
  "live-newest-Replay": {
    values: [string];
    row: {
      "id": string;
      "updatedAt": Date;
    };
  };
  "live-newest-event": {
    values: [string];
    row: {
      "id": string;
    };
  };
  "lock-cancel-blockers": {
    values: [number];
    row: {
      "isCanceled": boolean;
    };
  };
  "lock-endpoint": {
    values: [string];
    row: {
      "found": number;
    };
  };
  "lock-notice-contacts": {
    values: [string];
    row: {
      "found": number;
    };
  };
  "lock-read-pid": {
    values: [];
    row: {
      "pid": number;
    };
  };
  "lock-text": {
    values: [number, string];
    row: {
      "locked": string;
    };
  };
  "lock-values-project": {
    values: [string];
    row: {
      "found": number;
    };
  };
  "lock-values-user": {
    values: [string];
    row: {
      "found": number;
    };
  };
  "lock-visible-connector-key": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-connector-own": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-connector-shared": {
    values: [string, List<string>];
    row: {
      "found": number;
    };
  };
  "lock-visible-project-key": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-project-own": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-project-shared": {
    values: [string, List<string>];
    row: {
      "found": number;
    };
  };
  "lock-visible-webhook-key": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-webhook-own": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-webhook-shared": {
    values: [string, List<string>];
    row: {
      "found": number;
    };
  };
  "lock-visible-webhook-values-key": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-webhook-values-own": {
    values: [string, string];
    row: {
      "found": number;
    };
  };
  "lock-visible-webhook-values-shared": {
    values: [string, List<string>];
    row: {
      "found": number;
    };
  };
  "metric-snapshots-claim": {
    values: [List<string>];
    row: {
      "name": string;
      "claimedAt": Date;
    };
  };
  "metric-snapshots-read": {
    values: [List<string>];
    row: {
      "name": string;
      "value": Json | null;
      "isDue": boolean;
      "isUsable": boolean;
    };
  };
  "metric-snapshots-write": {
    values: [string, Time, string];
    row: object;
  };
  "notice-check-api-key-expired": {
    values: [number, number, string, string, string];
    row: object;
  };
  "notice-check-api-key-expiring": {
    values: [number, number, string, string, string];
    row: object;
  };
  "notice-check-credential-expiring": {
    values: [number, string, string, string];
    row: object;
  };
  "notice-check-deliveries-expiring": {
    values: [string, string, string, string, string, string];
    row: object;
  };
  "notice-check-facilitator-unreachable": {
    values: [string, string, number, string, string, string, string, string];
    row: object;
  };
  "notice-check-host-failing": {
    values: [string, string, string];
    row: object;
  };
  "notice-check-payment-uncertain": {
    values: [number, string, string, string];
    row: object;
  };
  "notice-check-vendor-shutdown": {
    values: [List<string>, List<string>, List<string>, List<string>, string, string, string];
    row: object;
  };
  "notice-contacts-read": {
    values: [string];
    row: {
      "id": string;
      "projectId": string;
      "emails": string[];
      "webhookUrl": string;
      "webhookSecret": string;
      "slackUrl": string;
      "weeklyDigest": boolean;
      "nextMessageAt": Date;
      "messageStep": number;
      "createdAt": Date;
      "updatedAt": Date;
    };
  };
  "notice-message-finish": {
    values: [string, number, string, number];
    row: object;
  };
  "notice-messages-claim": {
    values: [boolean, List<string>, boolean];
    row: {
      "id": string;
      "projectId": string;
      "account": string;
      "channel": string;
      "recipient": string;
      "content": Json;
      "attemptCount": number;
      "createdAt": Date;
    };
  };
  "notice-messages-delete-done": {
    values: [Whole];
    row: object;
  };
  "notice-messages-discard-older": {
    values: [Time];
    row: object;
  };
  "notice-messages-write": {
    values: [string, List<string>, List<string>, string];
    row: object;
  };
  "notices-close-gone": {
    values: [];
    row: object;
  };
  "notices-count-open": {
    values: [];
    row: {
      "type": string;
      "count": number;
    };
  };
  "notices-delete-closed": {
    values: [Whole];
    row: object;
  };
  "notices-find-due": {
    values: [];
    row: {
      "projectId": string;
    };
  };
  "notices-lock-contacts": {
    values: [string];
    row: {
      "projectId": string;
      "emails": string[];
      "hasWebhook": boolean;
      "hasSlack": boolean;
      "projectName": string;
    };
  };
  "notices-postpone": {
    values: [string];
    row: object;
  };
  "notices-project-page": {
    values: [string];
    row: {
      "id": string;
    };
  };
  "notices-start-gap": {
    values: [string];
    row: object;
  };
  "notices-take-due": {
    values: [string];
    row: {
      "id": string;
      "projectId": string;
      "type": string;
      "subjectId": string;
      "subject": string;
      "detail": string | null;
      "count": number;
      "firstAt": Date;
      "lastAt": Date;
      "closedAt": Date | null;
      "readAt": Date | null;
      "dueAt": Date | null;
      "notifiedAt": Date | null;
      "updatedAt": Date;
    };
  };
  "partitions-count-unfinished": {
    values: [];
    row: {
      "unfinished": number;
    };
  };
  "partitions-delete-from-default-Attempt": {
    values: [string];
    row: object;
  };
  "partitions-delete-from-default-Delivery": {
    values: [string];
    row: object;
  };
  "partitions-delete-from-default-Event": {
    values: [string];
    row: object;
  };
  "partitions-read": {
    values: [string];
    row: {
      "name": string;
      "bounds": string;
    };
  };
  "partitions-read-columns": {
    values: [string];
    row: {
      "columns": string;
    };
  };
  "partitions-try-lock": {
    values: [Whole];
    row: {
      "isOurs": boolean;
    };
  };
  "payment-books": {
    values: [List<string>, number];
    row: {
      "projectId": string;
      "account": string;
      "milestones": string[];
      "locked": string;
    };
  };
  "payment-by-id": {
    values: [string];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-call-begin": {
    values: [string, number, number];
    row: {
      "isCharged": boolean;
      "isServed": boolean;
      "isCalling": boolean;
      "projectId": string;
      "number": number;
    };
  };
  "payment-call-end": {
    values: [string, number, string, number, number, string, string];
    row: {
      "projectId": string;
    };
  };
  "payment-call-extend": {
    values: [string, number, number];
    row: object;
  };
  "payment-claim": {
    values: [List<string>, List<string>, List<string>, List<string>, List<string>, List<number>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<Whole>, List<Time>, List<Time>, List<string>, List<string>, List<number>, List<Time>, List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-fail": {
    values: [List<string>, List<number>, List<string>, List<string>, List<string>, List<string>, List<number>, List<number>, List<Time>];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-holder": {
    values: [string, string, string, string];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-identified": {
    values: [string, string, string];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-lease-extend": {
    values: [string, number, number];
    row: object;
  };
  "payment-payers": {
    values: [List<string>, number];
    row: {
      "locked": string;
    };
  };
  "payment-read-open": {
    values: [];
    row: {
      "status": PaymentStatus;
      "count": number;
      "oldestSeconds": number;
    };
  };
  "payment-response": {
    values: [string];
    row: {
      "statusCode": number;
      "headers": Json;
      "body": Buffer;
    };
  };
  "payment-response-bytes": {
    values: [string];
    row: {
      "bytes": number;
    };
  };
  "payment-responses-delete": {
    values: [List<string>];
    row: object;
  };
  "payment-responses-delete-expired": {
    values: [Whole];
    row: object;
  };
  "payment-responses-find-excess": {
    values: [Whole, Whole, number];
    row: {
      "id": string;
    };
  };
  "payment-serve": {
    values: [List<string>, List<number>, List<number>, List<number>, List<string>, List<number>, List<number>, List<Time>, List<string>, Buffer];
    row: {
      "id": string;
      "projectId": string;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "createdAt": Date;
      "updatedAt": Date;
    };
  };
  "payment-settle": {
    values: [List<string>, List<number>, List<string>, List<Time>, List<Time>];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
      "walletAddress": string;
      "countBefore": number;
      "totalBefore": string;
      "timeZone": string;
      "day": string;
      "dayTo": Date;
    };
  };
  "payment-settling": {
    values: [string, number, PaymentStatus];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-take": {
    values: [string, number];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-take-abandoned": {
    values: [number, number, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-take-over": {
    values: [List<string>, List<string>, List<string>, List<string>, List<string>, List<number>, List<string>, List<string>, List<string>, List<string>, List<string>, List<string>, List<Whole>, List<Time>, List<Time>, List<string>, List<string>, List<number>, List<Time>, List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-unknown": {
    values: [string, number, string, string, number];
    row: {
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
    };
  };
  "payment-verify": {
    values: [List<string>, List<number>, List<boolean>, List<string>, List<string>, List<Whole>, List<Time>];
    row: {
      "dueId": string;
      "dueTime": number;
      "payerNumber": number;
      "kind": string;
      "needed": string;
      "id": string;
      "projectId": string;
      "endpointId": string;
      "endpointPath": string;
      "method": string;
      "customerId": string | null;
      "status": PaymentStatus;
      "failureStage": PaymentStage | null;
      "failureReason": string | null;
      "failureMessage": string | null;
      "x402Version": number;
      "network": string;
      "asset": string;
      "assetAddress": string;
      "payer": string;
      "payTo": string;
      "nonce": string;
      "amountAtomic": Numeric;
      "validAfter": Date;
      "validBefore": Date;
      "authorization": Json | null;
      "requestFingerprint": string;
      "upstreamStatusCode": number | null;
      "upstreamDurationMs": number | null;
      "transactionHash": string | null;
      "leasedUntil": Date | null;
      "leaseToken": number;
      "createdAt": Date;
      "verifiedAt": Date | null;
      "servedAt": Date | null;
      "settledAt": Date | null;
      "updatedAt": Date;
      "settlement": SettlementOrder;
      "upstreamCallCount": number;
      "callLeasedUntil": Date | null;
      "unservedReason": string | null;
      "paymentIdentifier": string | null;
      "buyerUsageId": string | null;
      "others": Json;
    };
  };
  "payments-delete-refused": {
    values: [Whole];
    row: object;
  };
  "previous-price-delete": {
    values: [string];
    row: object;
  };
  "previous-price-delete-old": {
    values: [string, Whole];
    row: object;
  };
  "previous-price-forget-lower": {
    values: [string, string, Whole];
    row: object;
  };
  "previous-price-keep": {
    values: [string, Whole, number];
    row: object;
  };
  "project-account": {
    values: [string];
    row: {
      "account": string;
    };
  };
  "project-delete-api-keys": {
    values: [string];
    row: {
      "id": string;
    };
  };
  "project-keep-Invitation": {
    values: [string];
    row: object;
  };
  "project-keep-ProjectTransfer": {
    values: [string];
    row: object;
  };
  "project-visible-key": {
    values: [string, string];
    row: {
      "id": string;
      "userId": string;
      "name": string;
      "walletAddress": string;
      "gatewayHost": string | null;
      "claimedHost": string | null;
      "milestonesAtomic": string[];
      "createdAt": Date;
      "updatedAt": Date;
      "upstreamHeaders": Json | null;
      "secretUpstreamHeaders": string | null;
      "mode": ProjectMode;
      "networks": string[];
      "description": string | null;
      "iconUrl": string | null;
      "contact": string | null;
      "slug": string | null;
      "timeZone": string;
      "upstreamSecretVersion": number;
      "previousUpstreamSecretExpiresAt": Date | null;
    };
  };
  "project-visible-own": {
    values: [string, string];
    row: {
      "id": string;
      "userId": string;
      "name": string;
      "walletAddress": string;
      "gatewayHost": string | null;
      "claimedHost": string | null;
      "milestonesAtomic": string[];
      "createdAt": Date;
      "updatedAt": Date;
      "upstreamHeaders": Json | null;
      "secretUpstreamHeaders": string | null;
      "mode": ProjectMode;
      "networks": string[];
      "description": string | null;
      "iconUrl": string | null;
      "contact": string | null;
      "slug": string | null;
      "timeZone": string;
      "upstreamSecretVersion": number;
      "previousUpstreamSecretExpiresAt": Date | null;
    };
  };
  "project-visible-shared": {
    values: [string, List<string>];
    row: {
      "id": string;
      "userId": string;
      "name": string;
      "walletAddress": string;
      "gatewayHost": string | null;
      "claimedHost": string | null;
      "milestonesAtomic": string[];
      "createdAt": Date;
      "updatedAt": Date;
      "upstreamHeaders": Json | null;
      "secretUpstreamHeaders": string | null;
      "mode": ProjectMode;
      "networks": string[];
      "description": string | null;
      "iconUrl": string | null;
      "contact": string | null;
      "slug": string | null;
      "timeZone": string;
      "upstreamSecretVersion": number;
      "previousUpstreamSecretExpiresAt": Date | null;
    };
  };
  "projects-count-live": {
    values: [string];
    row: {
      "projects": number;
    };
  };
  "rate-limit-give-back": {
    values: [string, number];
    row: object;
  };
  "rate-limit-read": {
    values: [string];
    row: {
      "ahead": number;
    };
  };
  "rate-limit-record": {
    values: [string, number, number];
    row: {
      "ahead": number;
    };
  };
  "rate-limit-take": {
    values: [string, number, number];
    row: {
      "ahead": number;
    };
  };
  "rate-limits-delete-expired": {
    values: [Whole];
    row: object;
  };
  "readiness-cancel": {
    values: [string];
    row: {
      "pg_cancel_backend": boolean;
    };
  };
  "released-host-count": {
    values: [string, string, boolean];
    row: {
      "count": number;
    };
  };
  "released-host-find-reserved": {
    values: [string, string];
    row: {
      "reservedUntil": Date;
    };
  };
  "released-host-reserve": {
    values: [string, string, number];
    row: object;
  };
  "released-host-take": {
    values: [string, string];
    row: object;
  };
  "released-hosts-delete-expired": {
    values: [Whole];
    row: object;
  };
  "replay-batch": {
    values: [string, Time, List<DeliveryStatus>, List<string>, Time, Time, string, string, boolean, boolean, List<string>, string, number, Whole, number];
    row: {
      "requeued": number;
      "status": string;
    };
  };
  "replay-cancel": {
    values: [string];
    row: {
      "left": number;
    };
  };
  "replay-claim": {
    values: [number, number];
    row: {
      "id": string;
      "projectId": string;
      "filter": Json;
      "maxPerSecond": number;
      "createdAt": Date;
      "leaseToken": number;
    };
  };
  "replay-count": {
    values: [string, Time, List<DeliveryStatus>, List<string>, Time, Time, string, string, boolean, boolean, List<string>, Whole];
    row: {
      "total": number;
    };
  };
  "replay-count-waiting": {
    values: [string, Whole];
    row: {
      "waiting": number;
    };
  };
  "replay-give-back": {
    values: [string, number];
    row: object;
  };
  "replay-owner": {
    values: [string];
    row: {
      "accountId": string;
      "tier": Tier;
    };
  };
  "replay-renew": {
    values: [string, number, number];
    row: object;
  };
  "replays-cancel-older": {
    values: [Time];
    row: object;
  };
  "revenue-buckets": {
    values: [string, Time, Time, List<string>, List<string>, List<string>, List<string>, List<Time>];
    row: {
      "number": number;
      "totalAtomic": string;
      "paymentCount": number;
      "failedCount": number;
    };
  };
  "revenue-count-customers": {
    values: [string, Time, Time, List<string>, List<string>, List<string>, List<string>];
    row: {
      "count": number;
    };
  };
  "revenue-find-projects": {
    values: [string, Time];
    row: {
      "id": string;
      "isDue": boolean;
    };
  };
  "revenue-top-customers": {
    values: [string, Time, Time, List<string>, List<string>, List<string>, List<string>, number];
    row: {
      "customerId": string;
      "walletAddress": string;
      "totalAtomic": string;
      "paymentCount": number;
    };
  };
  "revenue-top-endpoints": {
    values: [string, Time, Time, List<string>, List<string>, List<string>, List<string>, number];
    row: {
      "endpointId": string;
      "path": string;
      "totalAtomic": string;
      "paymentCount": number;
    };
  };
  "revenue_count_hour": {
    values: [string, Time];
    row: {
      "hour": Date;
    };
  };
  "sealed-count-Connector-secretConfig": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-ConnectorAuthorization-sealed": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-ConnectorToken-sealed": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-Endpoint-secretUpstreamHeaders": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-NoticeContacts-slackUrl": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-NoticeContacts-webhookSecret": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-NoticeContacts-webhookUrl": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-Project-secretUpstreamHeaders": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-Webhook-previousSecret": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-Webhook-secret": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-Webhook-secretCredentials": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-count-WebhookToken-sealed": {
    values: [List<string>];
    row: {
      "count": number;
    };
  };
  "sealed-read-Connector-secretConfig": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-ConnectorAuthorization-sealed": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-ConnectorToken-sealed": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-Endpoint-secretUpstreamHeaders": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string | null;
    };
  };
  "sealed-read-NoticeContacts-slackUrl": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-NoticeContacts-webhookSecret": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-NoticeContacts-webhookUrl": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-Project-secretUpstreamHeaders": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string | null;
    };
  };
  "sealed-read-Webhook-previousSecret": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string | null;
    };
  };
  "sealed-read-Webhook-secret": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-read-Webhook-secretCredentials": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string | null;
    };
  };
  "sealed-read-WebhookToken-sealed": {
    values: [string, string, Whole];
    row: {
      "id": string;
      "projectId": string;
      "sealed": string;
    };
  };
  "sealed-replace-Connector-secretConfig": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-ConnectorAuthorization-sealed": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-ConnectorToken-sealed": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-Endpoint-secretUpstreamHeaders": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-NoticeContacts-slackUrl": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-NoticeContacts-webhookSecret": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-NoticeContacts-webhookUrl": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-Project-secretUpstreamHeaders": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-Webhook-previousSecret": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-Webhook-secret": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-Webhook-secretCredentials": {
    values: [string, string, string];
    row: object;
  };
  "sealed-replace-WebhookToken-sealed": {
    values: [string, string, string];
    row: object;
  };
  "search-by-hash": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-ApiKey": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-AuditEntry": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string | null;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Connector": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Customer": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Delivery": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Endpoint": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Event": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Notice": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Payment": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Project": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Replay": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-id-Webhook": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-text": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-text-everywhere": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "search-by-wallet": {
    values: [List<string>, string];
    row: {
      "type": string;
      "id": string;
      "projectId": string;
      "label": string;
      "status": string;
    };
  };
  "slug-look-up": {
    values: [string, string];
    row: {
      "isTaken": boolean;
      "reservedFor": string;
    };
  };
  "summary-count-customers": {
    values: [string, Time, Time];
    row: {
      "count": number;
    };
  };
  "summary-find-local-days": {
    values: [Time, Time, string, Whole];
    row: {
      "projectId": string;
      "day": string;
      "to": Date;
    };
  };
  "summary-find-utc-days": {
    values: [Time, Time, string, Whole];
    row: {
      "projectId": string;
      "day": string;
    };
  };
  "summary-finish-utc-day": {
    values: [string, Time, string];
    row: object;
  };
  "summary-period-lock": {
    values: [string];
    row: {
      "lastDay": string;
      "from": Date;
    };
  };
  "summary-period-write": {
    values: [string, Time, Time, Time, Time];
    row: object;
  };
  "summary-take-local-day": {
    values: [string, Time];
    row: {
      "lastDay": string;
      "day": string;
      "from": Date;
      "to": Date;
      "timeZone": string;
    };
  };
  "summary-take-utc-day": {
    values: [string, Time];
    row: {
      "?column?": number;
    };
  };
  "sweep-claim-round": {
    values: [string, number];
    row: object;
  };
  "time-zone": {
    values: [string];
    row: {
      "name": string | null;
    };
  };
  "token-drop-lease-connector": {
    values: [string, number, Time];
    row: object;
  };
  "token-drop-lease-webhook": {
    values: [string, number, Time];
    row: object;
  };
  "token-read-connector": {
    values: [string, string, string];
    row: {
      "sealed": string;
      "generation": number;
      "isValid": boolean;
      "isNew": boolean;
      "isFresh": boolean;
    };
  };
  "token-read-webhook": {
    values: [string, string, string];
    row: {
      "sealed": string;
      "generation": number;
      "isValid": boolean;
      "isNew": boolean;
      "isFresh": boolean;
    };
  };
  "token-store-connector": {
    values: [string, number, Time, string, number, string, number];
    row: object;
  };
  "token-store-webhook": {
    values: [string, number, Time, string, number, string];
    row: object;
  };
  "token-take-lease-connector": {
    values: [string, string, number, string];
    row: {
      "until": string;
    };
  };
  "token-take-lease-webhook": {
    values: [string, string, number, string];
    row: {
      "until": string;
    };
  };
  "transfer-end-expired": {
    values: [];
    row: object;
  };
  "transfer-find-accepted": {
    values: [];
    row: {
      "projectId": string;
      "offeredById": string;
    };
  };
  "transfers-delete-ended": {
    values: [Whole];
    row: object;
  };
  "usage-of-user": {
    values: [string, Whole];
    row: {
      "projectCount": number;
      "connectorCount": number;
      "waitingDeliveryCount": number;
    };
  };
  "user-create": {
    values: [string, string, string, Tier, number];
    row: {
      "id": string;
      "tier": Tier;
      "requestsPerMinute": number | null;
      "tierSetBy": TierSetter;
      "blockedReason": string;
      "memberships": Json;
      "blockedOwners": Json;
    };
  };
  "user-of-token": {
    values: [string, string];
    row: {
      "id": string;
      "tier": Tier;
      "requestsPerMinute": number | null;
      "tierSetBy": TierSetter;
      "blockedReason": string;
      "memberships": Json;
      "blockedOwners": Json;
    };
  };
  "user-set-tier": {
    values: [string, Tier, number];
    row: {
      "tier": Tier;
      "requestsPerMinute": number | null;
    };
  };
  "user-tiers": {
    values: [List<string>];
    row: {
      "id": string;
      "tier": Tier;
    };
  };
  "vendor-block-end": {
    values: [string];
    row: object;
  };
  "vendor-block-find": {
    values: [string];
    row: {
      "seconds": number;
    };
  };
  "vendor-block-start": {
    values: [string, number];
    row: object;
  };
  "vendor-block-take-trial": {
    values: [string, number];
    row: object;
  };
  "webhook-pause": {
    values: [List<string>, List<string>, List<string>];
    row: {
      "id": string;
      "projectId": string;
      "reason": string;
    };
  };
  "webhooks-count": {
    values: [List<string>, Whole];
    row: {
      "id": string;
      "count": number;
    };
  };
  "webhooks-first": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "webhooks-last": {
    values: [List<string>, Whole, string, string];
    row: {
      "id": string;
    };
  };
  "worker-beat": {
    values: [string];
    row: {
      "id": string;
    };
  };
  "worker-leave": {
    values: [string];
    row: object;
  };
};
