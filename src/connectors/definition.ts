import type { z } from 'zod';
import type { EventPayload, EventType } from '../events/types.ts';
import type { CredentialDefinition } from './credential.ts';
import type { ConnectorRequest, ConnectorResponse } from './exchange.ts';

/** The connector types, with their exact names in the API. */
export const CONNECTOR_TYPES = [
  'slack',
  'discord',
  'email',
  'resend',
  'telegram',
  'teams',
  'twilio',
  'segment',
  'mixpanel',
  'amplitude',
  'ga4',
  'zapier',
  'n8n',
  'make',
  'pagerduty',
  'datadog',
  'opsgenie',
  'bigquery',
  'supabase',
  'google-sheets',
  'dune',
  'hubspot',
  'salesforce',
  'linear',
  'quickbooks',
  'xero',
] as const;
export type ConnectorType = (typeof CONNECTOR_TYPES)[number];

export const CONNECTOR_CATEGORIES = [
  'Communication',
  'Analytics',
  'Automation',
  'Monitoring',
  'Data',
  'CRM',
  'Project Management',
  'Accounting',
] as const;
export type ConnectorCategory = (typeof CONNECTOR_CATEGORIES)[number];

/** An event as a connector receives it; `type` narrows `data`. `timestamp` is ISO 8601 UTC. */
export type ConnectorEvent = {
  [K in EventType]: {
    id: string;
    type: K;
    timestamp: string;
    projectId: string;
    /**
     * True for a test event that someone sent manually. The result must be recognizable as a test and must not be
     * booked as revenue.
     */
    test: boolean;
    data: EventPayload<K>;
  };
}[EventType];

/**
 * Small pieces of data that a connector keeps between deliveries, such as the ID of an item that it looked up or a
 * region that worked. They are never secrets. An outcome's `remember` is merged in before the next step is classified.
 * Changing the config clears the memory.
 */
export type ConnectorMemory = Readonly<Record<string, string>>;

/** A query for an endpoint's other payments within `minutes` of an event. */
export type HistoryQuestion = { endpointId: string; minutes: number };

/** Times are ISO 8601 UTC. */
export type EndpointHistory = {
  /** The times when the endpoint's upstream failed, including the time of the event itself. */
  upstreamFaults: readonly string[];
  /** When the latest payment to the endpoint settled, or null if none has settled since the event. */
  settledAt: string | null;
};

export type BuildContext = {
  connectorId: string;
  projectId: string;
  projectName: string;
  /** The event types that the connector is subscribed to, with `*` expanded. */
  selectedTypes: ReadonlySet<EventType>;
  memory: ConnectorMemory;
  /** This attempt's number, starting at 1. */
  attemptNumber: number;
  /** Whether the previous attempt's request may have arrived: it was sent, but there was no response. */
  previousAttemptAmbiguous: boolean;
  /** Whether an attempt failed since the event was recorded or, if later, the delivery was last resent manually. */
  isRetry: boolean;
  /** If `repeatsResponses` is set: the number of the attempt that began the last manual resend, also in its retries. */
  resentAt?: number;
  now: Date;
  /** The result of `lookBack`, read again before a response is classified. */
  history?: EndpointHistory;
  /** The event's URL in the console, if known. */
  consoleUrl?: string;
  /** Whether payments are settled on a local chain. Block explorers don't show its transactions. */
  isLocalChain?: boolean;
};

/** What a vendor's response means for the delivery. `reason` is shown to the seller and must not contain secrets. */
export type Outcome =
  | { kind: 'delivered'; note?: string; remember?: Record<string, string> }
  /** A temporary problem: retried on the normal schedule, but not before `afterSeconds`. */
  | { kind: 'retry'; reason: string; afterSeconds?: number; remember?: Record<string, string> }
  /** The vendor rejects all requests from this IP address. The type's connectors wait, and no retries are used up. */
  | { kind: 'blocked'; reason: string; afterSeconds: number }
  /** This event can never be accepted. The connector continues with the next one. */
  | { kind: 'drop'; reason: string }
  /** The vendor accepts other events. This one is held until the seller does what `reason` says first, and resends it. */
  | { kind: 'hold'; reason: string }
  /** The seller must fix something, such as the credentials. The connector is paused, and its deliveries are held. */
  | { kind: 'pause'; reason: string }
  /** The channel, table, or workflow no longer exists. The connector is disabled. */
  | { kind: 'disable'; reason: string }
  /** The delivery needs another call. */
  | { kind: 'next'; request: ConnectorRequest; remember?: Record<string, string> };

export type Built = ConnectorRequest | { skip: string };

export type ClassifyContext<Config> = BuildContext & {
  config: Config;
  events: readonly ConnectorEvent[];
  step: string;
};

/**
 * A rate limit that a vendor documents: at most `count` requests in any `perSeconds` seconds. If a vendor has
 * several limits, this is the one that a single connector reaches first.
 */
export type VendorLimit = {
  count: number;
  perSeconds: number;
  /** How many requests can start in a burst after a pause, if the vendor counts over a longer period. Defaults to 1. */
  burst?: number;
  /** How many requests a delivery usually takes. Defaults to 1. */
  requestsPerDelivery?: number;
  /**
   * Set this if the requests of one connector must not overlap. Each request then waits until the previous one has
   * ended, across all processes.
   */
  concurrency?: 1;
  /** The vendor's page that documents the limit. */
  documentationUrl: string;
};

/**
 * Whether the credentials work, with a message for the seller. `blockedSeconds`: for how long the vendor blocks this IP
 * address, if it does.
 */
export type ProbeResult = { ok: boolean; message: string; blockedSeconds?: number };

/** A probe's result, or the next request to send. */
export type ProbeOutcome = ProbeResult | { next: ConnectorRequest };

/**
 * A connector type. It is pure: it turns events into requests, and responses into outcomes, so both can be tested
 * without a network. The delivery engine takes care of sending, retrying, recording, and redacting.
 */
export type ConnectorDefinition<Config = Record<string, unknown>> = {
  type: ConnectorType;
  title: string;
  category: ConnectorCategory;
  /** One sentence, shown in the form, that says what is sent where. */
  description: string;
  /** The vendor's page that explains how to get the credentials. */
  documentationUrl: string;
  /** Set this if the vendor has announced that it will shut down the service. `on` is its last day (YYYY-MM-DD). */
  shutdown?: { on: string; advice: string };
  /** A strict zod object. Build its fields with `fields.ts`, which marks secrets and hosts. */
  config: z.ZodType<Config>;
  /** Set this if the config can have a credential that is exchanged for access tokens. */
  credential?: CredentialDefinition<Config>;
  /** Whether events of this type are sent. Accounting connectors use `selected` to avoid booking a payment twice. */
  supportsEvent(eventType: EventType, selected: ReadonlySet<EventType>): boolean;
  /** Set this if the vendor limits calls or charges for them. Up to `maxEvents` due events are sent in one request. */
  batch?: { maxEvents: number; windowSeconds: number };
  /**
   * Deliveries are paced to stay within this limit. Omitted if the vendor documents no limit that a single connector
   * can reach.
   */
  vendorLimit?: VendorLimit;
  /**
   * When a failed delivery is retried, in seconds after each failure. Set this if an attempt may take effect even if it
   * fails. This also turns off quick retries. Defaults to the schedule of webhooks.
   */
  retryDelaysSeconds?: readonly number[];
  /** After `maxAttempts`, an event whose workflow failed is dropped. `includes` recognizes the response to a failed run. */
  failedRuns?: { maxAttempts: number; includes(response: Pick<ConnectorResponse, 'statusCode' | 'body'>): boolean };
  /** Set this if the vendor repeats its response, even an error, for the same idempotency key. See `context.resentAt`. */
  repeatsResponses?: true;
  /** How many calls a delivery can take at most. Defaults to 5. */
  maxCalls?: number;
  /** Set this if sellers control responses, which then can’t say that this IP address is blocked, and how long they take. */
  sellersRespond?: true;
  /** Time limit for one call. Defaults to 15. */
  timeoutSeconds?: number;
  /** Advice for specific response statuses and error classes, if the default advice doesn't fit. */
  advice?: Readonly<Partial<Record<string, string>>>;
  /** The query for `context.history`, if one is needed. */
  lookBack?(event: ConnectorEvent, config: Config): HistoryQuestion | undefined;
  /** Builds a delivery's first request. `events` has one member unless `batch` is set. */
  build(events: readonly [ConnectorEvent, ...ConnectorEvent[]], config: Config, context: BuildContext): Built;
  classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome;
  /**
   * Checks the credentials without side effects. Also sent regularly while the connector is paused. Omitted if the
   * vendor has no such call.
   */
  probe?: {
    build(config: Config): ConnectorRequest;
    classify(response: ConnectorResponse, config: Config, step: string): ProbeOutcome;
  };
};

/** Infers a definition's config type. */
export function defineConnector<Config>(definition: ConnectorDefinition<Config>): ConnectorDefinition<Config> {
  return definition;
}
