import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { vendorUrlField } from '../fields.ts';
import { classifyByStatus, retry, retryAfterSeconds, vendorText } from '../shared/classify.ts';
import { eventEnvelope } from '../shared/envelope.ts';
import { afterFailedRun, MAX_FAILED_RUNS, RUN_DELAYS_SECONDS } from '../shared/failed-run.ts';

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'The URL of a custom webhook that starts a Make scenario.',
    secret: true,
    example: 'https://hook.eu2.make.com/abcdefghijklmnopqrstuvwxyz012345',
    host: /^hook\.((eu1|eu2|us1|us2)\.make\.com|(eu1|us1)\.make\.celonis\.com)$/,
    path: /^\/[a-z0-9]{20,64}$/,
    hint: 'Must be the URL of a custom webhook, such as https://hook.eu2.make.com/…, without a query string.',
  }),
});

const QUEUE_FULL_SECONDS = 60;
const THROTTLE_SECONDS = 10;
const SWITCHED_OFF_SECONDS = 60 * 60;
const PROTECTED = 'The Make webhook requires an API key. Turn off API key authentication for it in Make.';
const RUN = { name: 'The Make scenario', advice: 'Check its history in Make.' };

/** https://help.make.com/webhooks */
export const make = defineConnector({
  type: 'make',
  title: 'Make',
  category: 'Automation',
  description: 'Sends every event to a custom webhook, which can start a scenario.',
  documentationUrl: 'https://apps.make.com/gateway',
  config,
  supportsEvent: () => true,
  sellersRespond: true,
  vendorLimit: {
    count: 300,
    perSeconds: 10,
    burst: 10,
    documentationUrl: 'https://help.make.com/webhooks',
  },
  // A scenario with a Webhook response module keeps the connection open until that module responds.
  timeoutSeconds: 30,
  retryDelaysSeconds: RUN_DELAYS_SECONDS,
  failedRuns: { maxAttempts: MAX_FAILED_RUNS, includes: ({ statusCode }) => statusCode === 500 },
  advice: {
    410: 'If the webhook was deleted, save the URL of another one.',
    500: 'Fix the scenario in Make.',
    timeout: 'Have the scenario respond sooner. It may run again for the same event.',
  },

  build([event], { webhookUrl }) {
    return {
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
      body: eventEnvelope(event),
    };
  },

  classify(response, { config: { webhookUrl }, attemptNumber, now }) {
    const { statusCode, body } = response;
    const detail = vendorText(body, [webhookUrl, new URL(webhookUrl).pathname.slice(1)]);
    const after = retryAfterSeconds(response, now);
    if (statusCode >= 200 && statusCode < 300) {
      return {
        kind: 'delivered',
        note: 'Make accepted the event. Check the scenario history to see whether it ran.',
      };
    }
    if (statusCode === 400 && /queue is full/i.test(body)) {
      return retry("The Make webhook's queue is full.", after ?? QUEUE_FULL_SECONDS);
    }
    if (statusCode === 410) {
      return retry(
        'The Make scenario was turned off or deleted. Turn it back on, or save the URL of another one.',
        after ?? SWITCHED_OFF_SECONDS,
      );
    }
    if (statusCode === 429) return retry('Make is rate limiting requests.', after ?? THROTTLE_SECONDS);
    if (statusCode === 500) return afterFailedRun(RUN, attemptNumber);
    if (statusCode === 401 || statusCode === 403) return { kind: 'pause', reason: PROTECTED };
    return classifyByStatus('Make', response, { detail, now });
  },
});
