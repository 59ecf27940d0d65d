import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { secretField, textField, vendorUrlField } from '../fields.ts';
import {
  classifyByStatus,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { eventEnvelope } from '../shared/envelope.ts';
import { afterFailedRun, MAX_FAILED_RUNS, RUN_DELAYS_SECONDS } from '../shared/failed-run.ts';
import { stateOf } from './n8n-response.ts';

// Headers that are set by HTTP itself or by this connector.
const RESERVED_HEADERS =
  'host|connection|content-length|content-type|content-encoding|transfer-encoding|expect|te|trailer|upgrade|' +
  'keep-alive|proxy-.*|x-event-id|x-event-signature';

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'The Production URL of a Webhook node in a published workflow. The node must accept POST.',
    secret: true,
    example: 'https://example.app.n8n.cloud/webhook/0c4f5a2e-9d0b-4a53-9e3f-3d3d8e0a7b11',
    // n8n is often self-hosted, so any public host, port, and path are allowed.
    host: /./,
    path: /^\/(?!.*webhook-test(\/|$))./,
    hint: 'Must be an https Production URL. The Test URL (/webhook-test/) works only once.',
    allowPort: true,
    allowQuery: true,
  }),
  authHeaderName: textField({
    title: 'Authentication header',
    description: 'The header that the Webhook node checks (Header Auth). Default: Authorization.',
    example: 'X-Api-Key',
    maxLength: 64,
    pattern: new RegExp(`^(?!(?:${RESERVED_HEADERS})$)[\\w!#$%&'*+.^\`|~-]+$`, 'i'),
    hint: "Must be a header name that HTTP and this connector don't already use.",
  }).optional(),
  authHeaderValue: secretField({
    title: 'Authentication header value',
    description: 'The value of the authentication header. For Basic Auth: Basic, a space, and user:password in base64.',
    pattern: /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/,
    hint: 'Must be printable ASCII without leading or trailing spaces.',
  }).optional(),
  signingSecret: secretField({
    title: 'Signing secret',
    description:
      'A secret of your choice. If it is set, requests have an X-Event-Signature header with the HMAC-SHA256 of the body.',
    pattern: /^.{16,}$/u,
    hint: 'Must be at least 16 characters.',
  }).optional(),
});

/** Error classes that mean that n8n didn't respond. It may run on the seller's own server. */
const UNREACHABLE = ['connect_timeout', 'connection_refused', 'connection_reset', 'dns_error', 'tls_error'];
const UNREACHABLE_ADVICE = 'Check that n8n is running, and that the internet can reach it at the webhook URL.';
/** While n8n restarts, published workflows are missing too, so the first retries don't wait. */
const UNPUBLISHED_SHORT_TRIES = 2;
const UNPUBLISHED_SECONDS = 60 * 60;
const UNAUTHORIZED =
  'The Webhook node rejected the request. Check the name and value of the authentication header in the config.';
const NOT_ALLOWED = 'The Webhook node rejects our IP address. Remove its IP(s) Allowlist, or add the address.';
const NOT_ALLOWED_TEXT = /^IP is not (allowed|whitelisted) to access the webhook/;
const NOT_FOUND = "The webhook URL wasn't found (HTTP 404). n8n may be starting up.";
const RUN = { name: 'The n8n workflow', advice: 'Check its executions in n8n.' };

/** https://docs.n8n.io/integrations/builtin/core-nodes/n8n-nodes-base.webhook/ */
export const n8n = defineConnector({
  type: 'n8n',
  title: 'n8n',
  category: 'Automation',
  description: 'Sends every event to a Webhook node, which can start a workflow.',
  documentationUrl: 'https://docs.n8n.io/integrations/builtin/core-nodes/n8n-nodes-base.webhook/',
  config,
  supportsEvent: () => true,
  sellersRespond: true,
  // A node that responds when the last node finishes keeps the connection open until the workflow ends.
  timeoutSeconds: 30,
  retryDelaysSeconds: RUN_DELAYS_SECONDS,
  failedRuns: { maxAttempts: MAX_FAILED_RUNS, includes: (response) => stateOf(response) === 'failed' },
  advice: {
    404: "If n8n isn't just restarting, check that the workflow is published and that its Webhook node accepts POST.",
    500: 'Fix the workflow in n8n.',
    ...Object.fromEntries(UNREACHABLE.map((errorClass) => [errorClass, UNREACHABLE_ADVICE])),
    timeout: 'Set the Webhook node to respond immediately. The workflow may run again for the same event.',
  },

  build([event], { webhookUrl, authHeaderName = 'authorization', authHeaderValue, signingSecret }) {
    const body = eventEnvelope(event);
    return {
      method: 'POST',
      url: webhookUrl,
      headers: {
        ...(authHeaderValue ? { [authHeaderName.toLowerCase()]: authHeaderValue } : {}),
        ...(signingSecret ? { 'x-event-signature': `sha256=${hmac(body, signingSecret)}` } : {}),
        'content-type': 'application/json',
        'x-event-id': event.id,
      },
      body,
    };
  },

  classify(response, { config: settings, attemptNumber, now }) {
    const { statusCode, body } = response;
    const { webhookUrl, authHeaderValue = '', signingSecret = '' } = settings;
    const secrets = [webhookUrl, ...longPathSegments(webhookUrl), authHeaderValue, signingSecret];
    const detail = vendorText(valueAt(parseJson(body), 'message'), secrets);
    const after = retryAfterSeconds(response, now);
    const quote = detail ? ` n8n returned: ${detail}` : '';
    // The URL works again once the workflow is published, so the connector isn't disabled.
    const afterPublishing = after ?? (attemptNumber > UNPUBLISHED_SHORT_TRIES ? UNPUBLISHED_SECONDS : undefined);
    switch (stateOf(response)) {
      case 'unavailable':
        return retry(statusCode === 404 ? NOT_FOUND : 'n8n is starting up.', after);
      case 'unpublished':
        return retry(
          `n8n has no published workflow with this webhook URL. Publish the workflow.${quote}`,
          afterPublishing,
        );
      case 'wrong method':
        return retry(
          `The Webhook node doesn't accept POST. Change it, and publish the workflow.${quote}`,
          afterPublishing,
        );
      case 'not started':
        return retry(`n8n couldn't start the workflow. Check its Webhook node.${quote}`, after);
      case 'ran without result':
        return {
          kind: 'delivered',
          note: reason(`The workflow ran, but n8n had no result to respond with: ${detail}`),
        };
      case 'failed':
        return afterFailedRun(RUN, attemptNumber);
    }
    if (statusCode === 403 && NOT_ALLOWED_TEXT.test(body)) return { kind: 'pause', reason: NOT_ALLOWED };
    if (statusCode === 403) return { kind: 'pause', reason: `${UNAUTHORIZED} Also turn off Ignore Bots in the node.` };
    if (statusCode === 401) return { kind: 'pause', reason: UNAUTHORIZED };
    return classifyByStatus('n8n', response, { detail, now });
  },
});

/** n8n quotes the webhook's path in errors, and anyone who knows the path can call the webhook. */
function longPathSegments(url: string): string[] {
  return new URL(url).pathname.split('/').filter((segment) => segment.length >= 8);
}

function hmac(body: string, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
