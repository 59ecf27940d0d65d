import type { z } from 'zod';
import type { EventKind, EventPayload } from '../events/kinds.ts';

/** The connector types of the documented interface, exact values. */
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

/** One event as a connector sees it; `data` is narrowed by `type`. `timestamp` is ISO 8601 UTC. */
export type ConnectorEvent = {
  [K in EventKind]: {
    id: string;
    type: K;
    timestamp: string;
    projectId: string;
    /** True for an event sent by hand to try the connector out: it must be recognisable and never book money. */
    test: boolean;
    data: EventPayload<K>;
  };
}[EventKind];

/**
 * Small facts a connector keeps between deliveries (an item id it looked up, a region that worked). Never secrets. What
 * an outcome remembers is merged in before the next step is judged; a change of the config empties it.
 */
export type ConnectorMemory = Readonly<Record<string, string>>;

/** What is looked up of other payments at the endpoint of an event, within so many minutes of it. */
export type HistoryQuestion = { endpointId: string; minutes: number };

/** Times are ISO 8601 UTC. */
export type EndpointHistory = {
  /** Failures of the endpoint's upstream, the event itself among them. */
  upstreamFaults: readonly string[];
  /** The last settlement since the event; null when there is none. */
  settledAt: string | null;
};

export type BuildContext = {
  connectorId: string;
  projectId: string;
  projectName: string;
  /** Kinds the connector is subscribed to, `*` expanded. */
  selectedKinds: ReadonlySet<EventKind>;
  memory: ConnectorMemory;
  /** Counts from 1 over all tries of this delivery. */
  attemptNumber: number;
  /** The try before may have arrived: it ended without an answer after the request had been sent. */
  previousAttemptAmbiguous: boolean;
  now: Date;
  /** The answer to `lookBack`, read anew before an answer is judged. */
  history?: EndpointHistory;
  /** Address of the event in the console, where it is known. */
  consoleUrl?: string;
};

export type ConnectorRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** Names this call when a delivery takes several; `classify` is told which one it judges. Default `send`. */
  step?: string;
  /** What every process must find in the memory before this is sent. Looked at for the first request of a delivery. */
  announce?: Record<string, string>;
};

export type ConnectorResponse = {
  statusCode: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
};

/** What one answer of the vendor means for the delivery. `reason` is shown to the seller: no secrets in it. */
export type Outcome =
  | { kind: 'delivered'; note?: string; remember?: Record<string, string> }
  /** Passing trouble: the durable schedule tries again, not before `afterSeconds`. */
  | { kind: 'retry'; reason: string; afterSeconds?: number; remember?: Record<string, string> }
  /** This event can never be accepted; the connector goes on with others. */
  | { kind: 'drop'; reason: string }
  /** The credential was refused: the connector pauses and its deliveries are held until it is replaced. */
  | { kind: 'pause'; reason: string }
  /** The target is gone: the connector is disabled. */
  | { kind: 'disable'; reason: string }
  /** One more call is needed before the delivery is done. */
  | { kind: 'next'; request: ConnectorRequest; remember?: Record<string, string> };

export type Built = ConnectorRequest | { skip: string };

export type ClassifyContext<Config> = BuildContext & {
  config: Config;
  events: readonly ConnectorEvent[];
  step: string;
};

/** What a probe found: whether the credentials work, in a sentence for the seller. */
export type ProbeOutcome = { ok: boolean; message: string } | { next: ConnectorRequest };

/**
 * A connector type. Pure: it turns events into requests and answers into outcomes and does nothing itself, so both
 * halves are tested without a network. The delivery engine sends, retries, records and redacts.
 */
export type ConnectorDefinition<Config = Record<string, unknown>> = {
  type: ConnectorType;
  title: string;
  category: ConnectorCategory;
  /** One sentence for the form: what arrives where. */
  description: string;
  /** The vendor's page on how to get the credential. */
  documentationUrl: string;
  /** Strict zod object; build the fields with `fields.ts` so that secrets and hosts are marked. */
  config: z.ZodType<Config>;
  /** Whether the kind makes a call. `selected` lets accounting types avoid booking one payment twice. */
  carries(kind: EventKind, selected: ReadonlySet<EventKind>): boolean;
  /** Set where the vendor charges or limits per call: up to `maxEvents` due events go out in one request. */
  batch?: { maxEvents: number; windowSeconds: number };
  /** Total time for one call. Default 15. */
  timeoutSeconds?: number;
  /** What to look up for `context.history` before an event is judged, if anything. */
  lookBack?(event: ConnectorEvent, config: Config): HistoryQuestion | undefined;
  /** Makes the (first) request for the events; `events` has one member unless `batch` is set. */
  build(events: readonly [ConnectorEvent, ...ConnectorEvent[]], config: Config, context: BuildContext): Built;
  classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome;
  /** Checks the credentials without anybody noticing. Left out where the vendor offers no such call. */
  probe?: {
    build(config: Config): ConnectorRequest;
    classify(response: ConnectorResponse, config: Config, step: string): ProbeOutcome;
  };
};

/** Keeps the config type of a definition while it is written. */
export function defineConnector<Config>(definition: ConnectorDefinition<Config>): ConnectorDefinition<Config> {
  return definition;
}
