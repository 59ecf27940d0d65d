import type { z } from 'zod';
import type { OauthApp, OauthVendor } from '../config/oauth-apps.ts';
import type { EventPayload, EventType } from '../events/types.ts';

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

export type ConnectorRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** A name for this call, so that `classify` can tell the calls of a delivery apart. Defaults to `send`. */
  step?: string;
  /** Entries that are saved to memory before a delivery's first request is sent, so that every process can see them. */
  announce?: Record<string, string>;
  /** How much of the response to read, in bytes. Defaults to 64 KB. The rest is cut off. */
  maxResponseBytes?: number;
};

export type ConnectorResponse = {
  statusCode: number;
  /** Names are lowercase. */
  headers: Readonly<Record<string, string>>;
  body: string;
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

/** A probe's result: whether the credentials work, with a message for the seller, or the next request to send. */
export type ProbeOutcome = { ok: boolean; message: string } | { next: ConnectorRequest };

/**
 * How sellers connect an account with the operator's app (RFC 6749 §4.1). The config's `grant` is the refresh token.
 */
export type GrantDefinition<Config> = {
  vendor: OauthVendor;
  /** The vendor's name on the button. */
  title: string;
  /** Whether to get tokens with the grant. The seller's own credential takes precedence. */
  isUsed(config: Config): boolean;
  /** The URL where the seller authorizes access, including the scope and any vendor-specific parameters. */
  authorizationUrl(config: Config): string;
  /**
   * Builds the request that exchanges the code for a refresh token at the vendor's token endpoint.
   *
   * @param exchange `verifier` is for PKCE (RFC 7636).
   */
  buildExchange(
    config: Config,
    exchange: { app: OauthApp; code: string; verifier: string; redirectUri: string },
  ): ConnectorRequest;
};

/**
 * The result of a request to a vendor's token endpoint. `reason` is shown to the seller and must not contain secrets.
 */
export type TokenOutcome =
  | {
      kind: 'token';
      accessToken: string;
      lifetimeSeconds: number;
      /** Set if the vendor replaces the refresh token. The previous one may stop working. */
      refreshToken?: string;
      /** After this time, the vendor issues no more tokens until the seller connects again. */
      credentialLifetimeSeconds?: number;
    }
  | { kind: 'retry'; reason: string; afterSeconds?: number }
  /** The seller must connect again. */
  | { kind: 'pause'; reason: string };

/**
 * How a connector type gets access tokens from a longer-lived credential in its config. Like the rest of a
 * definition, it is pure. Requests are then built with a config whose `accessToken` is the current token.
 */
export type CredentialDefinition<Config> = {
  /** The config fields with the credential. Changing any of them invalidates the tokens issued for the old values. */
  fields: readonly string[];
  /** Whether the config has a longer-lived credential. Otherwise, it has only an access token. */
  isIn(config: Config): boolean;
  /**
   * Builds the request for a token.
   *
   * @param context `refreshToken` is the latest one that the vendor issued, if it replaced the one in the config. `app`
   *   is the operator's app, if the config's grant is used.
   */
  build(
    config: Config,
    context: { now: Date; refreshToken?: string; app?: OauthApp },
  ): Promise<ConnectorRequest> | ConnectorRequest;
  /**
   * What the response to a request for a token means.
   *
   * @param sent what was sent in addition to the config's credential, and must not be shown either: the same
   *   `refreshToken` and `app` as for `build`.
   */
  classify(
    response: ConnectorResponse,
    config: Config,
    sent?: { refreshToken?: string | undefined; app?: OauthApp | undefined },
  ): TokenOutcome;
  /** Set this if sellers can connect with the operator's app instead. */
  grant?: GrantDefinition<Config>;
};

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
