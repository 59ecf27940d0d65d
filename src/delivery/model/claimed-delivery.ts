import type { ConnectorMemory } from '../../connectors/definition.ts';
import type { Phases } from '../../egress/phases.ts';

/** A delivery that this process holds the lease of, with all that is needed to send it. */
export type ClaimedDelivery = {
  id: string;
  projectId: string;
  projectName: string;
  trigger: 'SCHEDULED' | 'MANUAL';
  /** Tries made before this claim. */
  attemptCount: number;
  retryStep: number;
  /** Proves that the lease is still ours: every claim has another one. */
  leaseToken: number;
  /** The `traceparent` of what made the event, if it was traced. */
  traceContext: string | null;
  /** What it is delivered in the order of, if anything: one after the other with those of its webhook that share it. */
  orderingKey: string | null;
  /** What went wrong last time, if anything. */
  previousErrorClass: string | null;
  /** Seconds since the delivery was created. */
  ageSeconds: number;
  /** The id of the webhook or connector. */
  destination: string;
  /** The id of the user whose project it is. */
  account: string;
  /** Scheme, host and port that the destination leads to; its id where these are not known before a request is built. */
  origin: string;
  /** The most requests a second that the destination takes. */
  maxPerSecond: number | null;
  /** Seconds for which another process has found that the destination is to be left alone; 0 or less when not. */
  circuitOpenSeconds: number;
  event: ClaimedEvent;
  webhook: ClaimedWebhook | null;
  connector: ClaimedConnector | null;
  /** The time of the database, in milliseconds, as it passes. */
  databaseTime: () => number;
};

export type ClaimedEvent = {
  id: string;
  type: string;
  /** Version of the payload. */
  version: number;
  test: boolean;
  timestamp: Date;
  /** JSON, byte for byte as it was stored. */
  data: string;
};

export type ClaimedWebhook = {
  id: string;
  url: string;
  isActive: boolean;
  isFailing: boolean;
  /** The version of payloads that it understands. */
  payloadVersion: number;
  /** Encrypted, as are all secrets here. */
  secret: string;
  /** Null once its time is over. */
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
};

/** One try as it is recorded. */
export type AttemptRecord = {
  /** Milliseconds since 1970 by the clock of the database. */
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  errorClass: string | null;
  errorMessage: string | null;
  responseBody: string | null;
  /** What went over the wire; left out when nothing could be sent. */
  exchange?: RecordedExchange;
};

/** A request and the head of its answer as they are kept: secrets masked. */
export type RecordedExchange = {
  phases: Phases;
  request: { method: string; url: string; headers: Record<string, string> };
  /** Null when there was no answer. */
  responseHeaders: Record<string, string> | null;
};

/** What the last try of a claim means for the delivery. `reason` is a stable code or a sentence for the seller. */
export type Verdict =
  | { kind: 'delivered'; reason?: string }
  | { kind: 'retry'; reason?: string; afterSeconds?: number }
  | { kind: 'drop'; reason: string }
  | { kind: 'pause'; reason: string }
  | { kind: 'disable'; reason: string }
  | { kind: 'skip'; reason: string }
  /** Not sent now and no fault of anybody: due again after so many seconds, or when the connector is released. */
  | { kind: 'wait'; afterSeconds: number; reason?: string }
  | { kind: 'hold' };

/** What came of one claim. */
export type SendResult = {
  attempts: AttemptRecord[];
  verdict: Verdict;
  /** Facts to keep for the connector's next deliveries; an empty text forgets one. */
  remember?: Record<string, string>;
};
