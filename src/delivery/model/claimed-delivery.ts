import type { ConnectorMemory } from '../../connectors/definition.ts';
import type { Phases } from '../../egress/phases.ts';
import type { RetrySchedule } from '../../generated/prisma/enums.ts';

/** A delivery that this process holds a lease for, with everything needed to send it. */
export type ClaimedDelivery = {
  id: string;
  projectId: string;
  projectName: string;
  trigger: 'SCHEDULED' | 'MANUAL';
  /** Attempts made before this claim. */
  attemptCount: number;
  retryStep: number;
  /** Proves that the lease is still ours, because every claim gets a new token. */
  leaseToken: number;
  /** The `traceparent` of the request that caused the event, if it was traced. */
  traceContext: string | null;
  /** A webhook's deliveries that share this key are sent one after the other. Null when order doesn't matter. */
  orderingKey: string | null;
  /** The previous attempt's error class, if it failed. */
  previousErrorClass: string | null;
  /** Seconds since the delivery was created. */
  ageSeconds: number;
  /** The ID of the webhook or connector. */
  destination: string;
  /** The ID of the user who owns the project. */
  account: string;
  /** The destination's scheme, host, and port. Null if these aren't known before a request is built. */
  origin: string | null;
  /** The destination's own rate limit in requests per second, which may be a fraction. */
  maxPerSecond: number | null;
  /** How many more seconds the destination's stored circuit stays open; 0 or less when it is closed. */
  circuitOpenSeconds: number;
  event: ClaimedEvent;
  webhook: ClaimedWebhook | null;
  connector: ClaimedConnector | null;
  /** The database's current time in milliseconds. */
  databaseTime: () => number;
};

export type ClaimedEvent = {
  id: string;
  type: string;
  /** The payload's version. */
  version: number;
  test: boolean;
  timestamp: Date;
  /** JSON, exactly as it was stored. */
  data: string;
};

export type ClaimedWebhook = {
  id: string;
  url: string;
  isActive: boolean;
  isFailing: boolean;
  isPaused: boolean;
  /** The payload version that the webhook is pinned to. */
  payloadVersion: number;
  /** Null for the default. */
  timeoutSeconds: number | null;
  retrySchedule: RetrySchedule;
  /** The webhook's custom headers and authentication. Null if it has none. */
  secretCredentials: string | null;
  /** Encrypted, like all secrets here. */
  secret: string;
  /** Null once it has expired. */
  previousSecret: string | null;
};

export type ClaimedConnector = {
  id: string;
  type: string;
  isActive: boolean;
  isFailing: boolean;
  isPaused: boolean;
  secretConfig: string;
  eventTypes: string[];
  memory: ConnectorMemory;
  /** How many more seconds the vendor's block lasts, negative if it may have ended; null if there is none. */
  blockedSeconds: number | null;
};

/** One attempt, as recorded. */
export type AttemptRecord = {
  /** Milliseconds since 1970 by the database's clock. */
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  errorClass: string | null;
  errorMessage: string | null;
  responseBody: string | null;
  /** Whether the request and the response aren't stored, because the account has used up its limit for the day. */
  isContentOmitted?: boolean;
  /** The request and the response. Omitted if nothing could be sent. */
  exchange?: RecordedExchange;
};

export type RecordedRequest = { method: string; url: string; headers: Record<string, string> };

/** A request and its response's headers as they are stored, with secrets masked. */
type RecordedExchange = {
  phases: Phases;
  /** Null if it isn't stored. */
  request: RecordedRequest | null;
  /** Null when there was no response. */
  responseHeaders: Record<string, string> | null;
};

/** What the last attempt means for the delivery. `reason` is a stable code or a sentence for the seller. */
export type Verdict =
  | { kind: 'delivered'; reason?: string }
  | { kind: 'retry'; reason?: string; afterSeconds?: number }
  /** The vendor is blocking this service's address, so nothing is sent to connectors of the type for `afterSeconds`. */
  | { kind: 'blocked'; reason: string; afterSeconds: number }
  | { kind: 'drop'; reason: string }
  | { kind: 'pause'; reason: string }
  | { kind: 'disable'; reason: string }
  | { kind: 'skip'; reason: string }
  /**
   * The delivery isn't sent now, but it hasn't failed. A `wait` is due after `afterSeconds`. A `hold` is due once the
   * destination is resumed or, if it has a reason, once someone resends it. A `park` stays due and waits for its
   * destination to have capacity.
   */
  | { kind: 'wait'; afterSeconds: number; reason?: string }
  | { kind: 'park'; reason: string }
  | { kind: 'hold'; reason?: string };

/** The result of sending a claimed delivery. */
export type SendResult = {
  attempts: AttemptRecord[];
  verdict: Verdict;
  /** Entries to keep in memory for the connector's next deliveries. An empty string removes an entry. */
  remember?: Record<string, string>;
};
