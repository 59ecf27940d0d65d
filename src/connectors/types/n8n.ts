import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { secretField, textField, vendorUrlField } from '../fields.ts';
import { classifyByStatus, parseJson, retry, retryAfterSeconds, valueAt, vendorText } from '../shared/classify.ts';
import { eventEnvelope } from '../shared/envelope.ts';
import { afterFailedRun, MAX_FAILED_RUNS, RUN_DELAYS_SECONDS } from '../shared/failed-run.ts';

// Headers that are set by HTTP itself or by this connector.
const RESERVED_HEADERS =
  'host|connection|content-length|content-type|content-encoding|transfer-encoding|expect|te|trailer|upgrade|' +
  'keep-alive|proxy-.*|x-event-id|x-event-signature';

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'The Production URL of a Webhook node in an active workflow. The node must accept POST.',
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
const INACTIVE_SECONDS = 60 * 60;
const UNAUTHORIZED =
  'The Webhook node rejected the request. Check the name and value of the authentication header in the config.';
const RUN = { name: 'The n8n workflow', advice: 'Check its executions in n8n.' };

/** https://docs.n8n.io/integrations/builtin/core-nodes/n8n-nodes-base.webhook/ */
export const n8n = defineConnector({
  type: 'n8n',
  title: 'n8n',
  category: 'Automation',
  description: 'Sends every event to a Webhook node, which can start a workflow.',
  documentationUrl: 'https://docs.n8n.io/integrations/builtin/core-nodes/n8n-nodes-base.webhook/',
  config,
  carries: () => true,
  // A node that responds when the last node finishes keeps the connection open until the workflow ends.
  timeoutSeconds: 30,
  retryDelaysSeconds: RUN_DELAYS_SECONDS,
  maxFailedRuns: MAX_FAILED_RUNS,
  advice: {
    404: 'Check that its Webhook node accepts POST.',
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
    if (statusCode === 404) {
      // n8n returns 404 while the workflow is inactive. The URL works again once the workflow is active.
      const sentence = 'n8n has no active workflow with a POST webhook at this URL. Activate the workflow';
      return retry(
        `${sentence}${detail ? `. n8n returned: ${detail}` : '.'}`,
        retryAfterSeconds(response, now) ?? INACTIVE_SECONDS,
      );
    }
    if (statusCode === 500) return afterFailedRun(RUN, attemptNumber);
    if (statusCode === 401 || statusCode === 403) return { kind: 'pause', reason: UNAUTHORIZED };
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
