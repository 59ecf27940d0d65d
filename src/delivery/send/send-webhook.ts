import type { Logger } from 'pino';
import type { Egress, EgressResponse } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import type { EgressRequest } from '../../egress/exchange.ts';
import type { TlsIdentity } from '../../egress/tls-identity.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions, renderPayload } from '../../events/versions.ts';
import { parseRetryAfter } from '../../retry-after.ts';
import { MASK } from '../../secrets/mask.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { createSizedCache } from '../../secrets/sized-cache.ts';
import { describeSpan, inSpan, type SpanOptions, traceHeaders } from '../../tracing/tracer.ts';
import type {
  AttemptRecord,
  ClaimedDelivery,
  ClaimedWebhook,
  RecordedRequest,
  SendResult,
  Verdict,
} from '../model/claimed-delivery.ts';
import type { AttemptErrorClass } from '../model/error-classes.ts';
import type { NotReady, WithAccessToken } from './access-tokens.ts';
import { failedTry, withoutToken } from './failed-tries.ts';
import { type Try, withQuickTries } from './quick-tries.ts';
import { recordedHeaders, recordedRequest } from './recorded-exchange.ts';
import { MAX_RESPONSE_BYTES, storedBody } from './response-text.ts';
import type { QuickRetryPolicy } from './retry-policy.ts';
import { waitToSearch } from './search-turns.ts';
import {
  bearerHeader,
  credentialHeaders,
  hiddenValues,
  type OAuthClient,
  readSealedCredentials,
  secretUrls,
  tlsIdentityOf,
  tokenSourceOf,
  type WebhookCredentials,
} from './webhook-credentials.ts';
import { signedWebhookHeaders, webhookBody } from './webhook-request.ts';

/** What webhooks' and connectors' senders need. */
export type SenderOptions = {
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
const NO_CREDENTIALS: WebhookCredentials = { headers: [], authentication: null };
/** Enough for tens of thousands of webhooks without custom headers or authentication. */
const MAX_OPENED_BYTES = 64 * 1024 * 1024;

/**
 * The secret parts of a webhook's requests. `signing` remains the same list until the secrets change, because the keys
 * are cached per list.
 */
type OpenedSecrets = {
  signing: readonly string[];
  /** The values to mask in responses. */
  hidden: readonly string[];
  /** The webhook's custom headers, with its authentication. */
  headers: Readonly<Record<string, string>>;
  oauth: OAuthClient | undefined;
  tls: TlsIdentity | undefined;
};

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
export function createWebhookSender(
  options: SenderOptions & {
    egressOf: (projectId: string) => Pick<Egress, 'send'>;
    withAccessToken: WithAccessToken;
  },
) {
  const { egressOf, secretBox, log, userAgent, quickRetries, withAccessToken } = options;
  const { payloadVersions = PAYLOAD_VERSIONS } = options;
  const openSecrets = createSecretOpener(secretBox);

  return async function sendWebhook(
    delivery: ClaimedDelivery,
    webhook: ClaimedWebhook,
    { mayRetry, signal }: SendControl,
  ): Promise<SendResult> {
    const { id, timeoutSeconds, retrySchedule, secretCredentials } = webhook;
    const { data, version } = renderPayload(delivery.event, webhook.payloadVersion, payloadVersions);
    // Stored as bytes so that signing and sending don't each make a copy.
    const body = Buffer.from(webhookBody({ ...delivery.event, data }, delivery.projectId));

    function makeRequest(startedAt: number, { signing, headers, tls }: OpenedSecrets): EgressRequest {
      const timestampSeconds = Math.floor(startedAt / 1000);
      const signed = { id: delivery.event.id, version, userAgent, timestampSeconds, body, secrets: signing };
      return {
        method: 'POST',
        url: webhook.url,
        headers: { ...headers, ...signedWebhookHeaders(signed), ...traceHeaders() },
        body,
        ...(tls && { tls }),
        timeoutMilliseconds: timeoutSeconds === null ? options.timeoutMilliseconds : timeoutSeconds * 1000,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        signal,
      };
    }

    async function sendWith(secrets: OpenedSecrets): Promise<{ sending: Try; isUnauthorized: boolean }> {
      const startedAt = delivery.databaseTime();
      let request: RecordedRequest | undefined;
      try {
        return await inSpan(
          'POST',
          () => spanOf(webhook),
          async () => {
            const sent = makeRequest(startedAt, secrets);
            request = recordedWebhookRequest(sent, secrets.headers, delivery.account);
            const response = await egressOf(delivery.projectId).send(sent);
            describeSpan({ 'http.response.status_code': response.statusCode });
            await waitToSearch(secrets.hidden, delivery.account);
            const sending = toTry(response, request, {
              startedAt,
              secrets: secrets.hidden,
              accountId: delivery.account,
            });
            return { sending, isUnauthorized: response.statusCode === 401 };
          },
        );
      } catch (error) {
        return { sending: failedTry(error, { startedAt, delivery, log, request }), isUnauthorized: false };
      }
    }

    async function sendWithToken(secrets: OpenedSecrets, oauth: OAuthClient): Promise<Try> {
      const startedAt = delivery.databaseTime();
      const owner = {
        id,
        projectId: delivery.projectId,
        ...(secretCredentials && { sealedCredential: secretCredentials }),
      };
      const result = await withAccessToken(owner, tokenSourceOf(oauth), ({ accessToken }) =>
        sendWith(withBearer(secrets, accessToken)),
      ).catch(tokenUrlFailed);
      return 'kind' in result ? withoutToken(result, startedAt, delivery.databaseTime()) : result.sending;
    }

    async function tryOnce(): Promise<Try> {
      try {
        const secrets = openSecrets(webhook, delivery);
        return secrets.oauth ? await sendWithToken(secrets, secrets.oauth) : (await sendWith(secrets)).sending;
      } catch (error) {
        return failedTry(error, { startedAt: delivery.databaseTime(), delivery, log });
      }
    }

    // If retries are off, there are no quick retries either.
    const isRetried = () => retrySchedule !== 'NONE' && mayRetry();
    const policy = quickRetries && { policy: quickRetries };
    return withQuickTries(tryOnce, { isRepeatable: true, mayRetry: isRetried, ...policy });
  };
}

/** Creates the function that decrypts a webhook's secrets. The same ciphertext always has the same content. */
function createSecretOpener(secretBox: SenderOptions['secretBox']) {
  // The secrets are kept as a list and as headers, and each is shorter than the ciphertext.
  const bytesOf = (sealed: string) => 3 * sealed.length;
  const opened = createSizedCache<OpenedSecrets>({ maxBytes: MAX_OPENED_BYTES, bytesOf });
  return function openSecrets(webhook: ClaimedWebhook, { projectId, account }: ClaimedDelivery): OpenedSecrets {
    const { id, url, secret, previousSecret, secretCredentials } = webhook;
    const open = (text: string, column: string) =>
      secretBox.open(text, { table: 'Webhook', column, rowId: id, projectId });
    return opened(
      `${secret} ${previousSecret ?? ''} ${secretCredentials ?? ''} ${url}`,
      () => {
        const signing = [open(secret, 'secret')];
        if (previousSecret !== null) signing.push(open(previousSecret, 'previousSecret'));
        const credentials: WebhookCredentials =
          secretCredentials === null
            ? NO_CREDENTIALS
            : readSealedCredentials(open(secretCredentials, 'secretCredentials'), webhook);
        const { authentication } = credentials;
        return {
          signing,
          hidden: [...signing, ...secretUrls(url), ...hiddenValues(credentials)],
          headers: credentialHeaders(credentials),
          oauth: authentication?.type === 'OAUTH2_CLIENT_CREDENTIALS' ? authentication : undefined,
          tls: tlsIdentityOf(credentials),
        };
      },
      account,
    );
  };
}

function withBearer(secrets: OpenedSecrets, accessToken: string): OpenedSecrets {
  return {
    ...secrets,
    hidden: [...secrets.hidden, accessToken],
    headers: { ...secrets.headers, ...bearerHeader(accessToken) },
  };
}

function tokenUrlFailed(error: unknown): NotReady {
  if (!(error instanceof EgressError)) throw error;
  return { kind: 'retry', reason: `Couldn't get an access token from the token URL. ${error.message}` };
}

/** The values of the webhook's custom headers are masked, regardless of their names. */
function recordedWebhookRequest(
  sent: EgressRequest,
  own: OpenedSecrets['headers'],
  accountId: string,
): RecordedRequest {
  // The only other secret in the headers is masked by header name.
  const { method, url, headers } = recordedRequest(sent, NOTHING_SECRET, accountId);
  const masked = Object.keys(own).map((name) => [name, MASK]);
  return { method, url: maskUrl(url), headers: { ...headers, ...Object.fromEntries(masked) } };
}

function spanOf({ url }: ClaimedWebhook): SpanOptions {
  const attributes = { 'http.request.method': 'POST', 'server.address': URL.parse(url)?.hostname ?? '' };
  return { kind: 'client', attributes };
}

function toTry(
  response: EgressResponse,
  request: RecordedRequest,
  { startedAt, secrets, accountId }: { startedAt: number; secrets: readonly string[]; accountId: string },
): Try {
  const { statusCode, headers, durationMilliseconds, phases } = response;
  const { verdict, errorClass, message } = judgeStatus(statusCode, parseRetryAfter(headers, startedAt));
  const attempt: AttemptRecord = {
    startedAt,
    durationMs: durationMilliseconds,
    statusCode,
    errorClass,
    errorMessage: message ?? null,
    responseBody: storedBody(response, secrets, accountId),
    exchange: { phases, request, responseHeaders: recordedHeaders(headers, secrets, accountId) },
  };
  return { attempt, verdict };
}
