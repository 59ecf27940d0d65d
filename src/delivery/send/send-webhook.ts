import type { Logger } from 'pino';
import type { Egress, EgressResponse } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import type { EgressRequest } from '../../egress/exchange.ts';
import { MAX_KEPT_CONNECTIONS } from '../../egress/kept-connections.ts';
import { addPhases, NO_PHASES, type Phases } from '../../egress/phases.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions, renderPayload } from '../../events/versions.ts';
import { parseRetryAfter } from '../../retry-after.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { describeSpan, inSpan, type SpanOptions, traceHeaders } from '../../tracing/tracer.ts';
import type {
  AttemptRecord,
  ClaimedDelivery,
  ClaimedWebhook,
  RecordedExchange,
  SendResult,
  Verdict,
} from '../model/claimed-delivery.ts';
import type { AttemptErrorClass } from '../model/error-classes.ts';
import { type Try, withQuickTries } from './quick-tries.ts';
import { recordedHeaders, recordedRequest } from './recorded-exchange.ts';
import { MAX_RESPONSE_BYTES, storedBody } from './response-text.ts';
import type { QuickRetryPolicy } from './retry-policy.ts';
import { signedWebhookHeaders, webhookBody } from './webhook-request.ts';

export type SenderOptions = {
  egress: Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open'>;
  log: Logger;
  userAgent: string;
  timeoutMilliseconds: number;
  quickRetries?: QuickRetryPolicy;
  payloadVersions?: PayloadVersions;
};

/**
 * Controls sending. `signal` aborts it when the process stops. After a job's first request, each later one waits for
 * `nextSlot`, which returns false if the rest must be left for later.
 */
export type SendControl = { mayRetry: () => boolean; nextSlot: () => Promise<boolean>; signal: AbortSignal };

const NOTHING_SECRET: readonly string[] = [];

/**
 * `hidden`: what to mask in responses. Caches rely on getting the same list object as long as the secrets are the same.
 */
type OpenedSecrets = { signing: readonly string[]; hidden: readonly string[] };

type Judgement = { verdict: Verdict; errorClass: AttemptErrorClass | null; message?: string };

/** What a response's status means (Standard Webhooks, "Delivery"): only 2xx is a success. */
export function judgeStatus(statusCode: number, retryAfterSeconds: number | undefined): Judgement {
  if (statusCode >= 200 && statusCode < 300) return { verdict: { kind: 'delivered' }, errorClass: null };
  if (statusCode === 410) return { verdict: { kind: 'disable', reason: 'gone' }, errorClass: 'http_status' };
  if (statusCode >= 300 && statusCode < 400) {
    const message = 'The destination returned a redirect. Redirects are not followed.';
    return { verdict: { kind: 'retry' }, errorClass: 'redirect', message };
  }
  const mayAskToWait = statusCode === 429 || statusCode === 503;
  const afterSeconds = mayAskToWait ? retryAfterSeconds : undefined;
  return { verdict: { kind: 'retry', ...(afterSeconds !== undefined && { afterSeconds }) }, errorClass: 'http_status' };
}

/** Creates the function that signs and sends a claimed delivery to its webhook (Standard Webhooks). It never throws. */
export function createWebhookSender(options: SenderOptions) {
  const { egress, secretBox, log, userAgent, timeoutMilliseconds, quickRetries } = options;
  const { payloadVersions = PAYLOAD_VERSIONS } = options;

  // The same ciphertext always has the same content, so decrypting it once is enough.
  const opened = new Map<string, OpenedSecrets>();

  function openSecrets({ id, url, secret, previousSecret }: ClaimedWebhook, projectId: string): OpenedSecrets {
    const sealed = `${secret} ${previousSecret ?? ''} ${url}`;
    const known = opened.get(sealed);
    if (known) return known;
    const cell = { table: 'Webhook', rowId: id, projectId };
    const signing = [secretBox.open(secret, { ...cell, column: 'secret' })];
    if (previousSecret !== null) signing.push(secretBox.open(previousSecret, { ...cell, column: 'previousSecret' }));
    const secrets = { signing, hidden: maskUrl(url) === url ? signing : [...signing, url] };
    if (opened.size >= MAX_KEPT_CONNECTIONS) opened.clear();
    opened.set(sealed, secrets);
    return secrets;
  }

  return async function sendWebhook(
    delivery: ClaimedDelivery,
    webhook: ClaimedWebhook,
    { mayRetry, signal }: SendControl,
  ): Promise<SendResult> {
    const { data, version } = renderPayload(delivery.event, webhook.payloadVersion, payloadVersions);
    // As bytes, so signing and sending don't each make a copy.
    const body = Buffer.from(webhookBody({ ...delivery.event, data }, delivery.projectId));

    function makeRequest(startedAt: number, secrets: readonly string[]): EgressRequest {
      const { id } = delivery.event;
      const timestampSeconds = Math.floor(startedAt / 1000);
      return {
        method: 'POST',
        url: webhook.url,
        headers: {
          ...signedWebhookHeaders({ id, version, userAgent, timestampSeconds, body, secrets }),
          ...traceHeaders(),
        },
        body,
        timeoutMilliseconds,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        signal,
      };
    }

    async function tryOnce(): Promise<Try> {
      const startedAt = delivery.databaseTime();
      let request: RecordedExchange['request'] | undefined;
      try {
        return await inSpan(
          'POST',
          () => spanOf(webhook),
          async () => {
            const { signing, hidden } = openSecrets(webhook, delivery.projectId);
            const sent = makeRequest(startedAt, signing);
            // The only secret in the headers is masked by header name.
            request = { ...recordedRequest(sent, NOTHING_SECRET), url: maskUrl(sent.url) };
            const response = await egress.send(sent);
            describeSpan({ 'http.response.status_code': response.statusCode });
            return toTry(response, request, startedAt, hidden);
          },
        );
      } catch (error) {
        return failedTry(error, { startedAt, delivery, log, request });
      }
    }

    return withQuickTries(tryOnce, { isRepeatable: true, mayRetry, ...(quickRetries && { policy: quickRetries }) });
  };
}

function spanOf({ url }: ClaimedWebhook): SpanOptions {
  const attributes = { 'http.request.method': 'POST', 'server.address': URL.parse(url)?.hostname ?? '' };
  return { kind: 'client', attributes };
}

function toTry(
  response: EgressResponse,
  request: RecordedExchange['request'],
  startedAt: number,
  secrets: readonly string[],
): Try {
  const { statusCode, headers, body, durationMilliseconds, phases } = response;
  const { verdict, errorClass, message } = judgeStatus(statusCode, parseRetryAfter(headers, startedAt));
  const attempt: AttemptRecord = {
    startedAt,
    durationMs: durationMilliseconds,
    statusCode,
    errorClass,
    errorMessage: message ?? null,
    responseBody: storedBody(body, secrets),
    exchange: { phases, request, responseHeaders: recordedHeaders(headers, secrets) },
  };
  return { attempt, verdict };
}

export type FailedTry = {
  startedAt: number;
  delivery: ClaimedDelivery;
  log: Logger;
  /** The request that was sent or would have been sent. */
  request?: RecordedExchange['request'] | undefined;
  /** Totals for the earlier calls that got a response. */
  durationMs?: number;
  phases?: Phases;
};

/**
 * An attempt without a response. A failure that isn't the network's fault is ours, so it is logged, and the attempt is
 * shown without details.
 */
export function failedTry(error: unknown, { startedAt, delivery, log, request, ...before }: FailedTry): Try {
  const isNetwork = error instanceof EgressError;
  if (!isNetwork) log.error({ err: error, deliveryId: delivery.id }, "couldn't send a delivery: internal error");
  const { durationMs = 0, phases = NO_PHASES } = before;
  const attempt: AttemptRecord = {
    startedAt,
    durationMs: isNetwork ? durationMs + error.durationMilliseconds : Math.round(delivery.databaseTime() - startedAt),
    statusCode: null,
    errorClass: isNetwork ? error.errorClass : ('internal' satisfies AttemptErrorClass),
    errorMessage: isNetwork ? error.message : 'Something went wrong on our side. The delivery will be retried.',
    responseBody: null,
    ...(isNetwork &&
      request && { exchange: { phases: addPhases(phases, error.phases), request, responseHeaders: null } }),
  };
  return { attempt, verdict: { kind: 'retry' } };
}
