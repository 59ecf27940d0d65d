import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { vendorUrlField } from '../fields.ts';
import { classifyByStatus, retry, retryAfterSeconds, vendorText } from '../shared/classify.ts';
import { eventEnvelope } from '../shared/envelope.ts';

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'Make: a scenario that starts with Webhooks, Custom webhook; copy its address.',
    secret: true,
    example: 'https://hook.eu2.make.com/abcdefghijklmnopqrstuvwxyz012345',
    host: /^hook\.((eu1|eu2|us1|us2)\.make\.com|(eu1|us1)\.make\.celonis\.com)$/,
    path: /^\/[a-z0-9]{20,64}$/,
    hint: 'Must be the address of a custom webhook: https://hook.eu2.make.com/… without a query.',
  }),
});

const QUEUE_FULL_SECONDS = 60;
const THROTTLE_SECONDS = 10;
const SWITCHED_OFF_SECONDS = 60 * 60;
const MAX_FAILED_RUNS = 3;

/** https://help.make.com/webhooks */
export const make = defineConnector({
  type: 'make',
  title: 'Make',
  category: 'Automation',
  description: 'Every event is sent to a custom webhook and can start a scenario.',
  documentationUrl: 'https://apps.make.com/gateway',
  config,
  carries: () => true,
  // A scenario with a Webhook response module holds the connection until it has run.
  timeoutSeconds: 30,

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
      return { kind: 'delivered', note: 'Make took the event; whether the scenario ran is in its history.' };
    }
    if (statusCode === 400 && /queue is full/i.test(body)) {
      return retry('The queue of the Make webhook is full.', after ?? QUEUE_FULL_SECONDS);
    }
    if (statusCode === 410) {
      return retry('The Make scenario is switched off or deleted. Switch it on again.', after ?? SWITCHED_OFF_SECONDS);
    }
    if (statusCode === 429) return retry('Make asked to slow down.', after ?? THROTTLE_SECONDS);
    if (statusCode === 500 && attemptNumber >= MAX_FAILED_RUNS) {
      // The scenario ran each time, at the seller's cost, and will not do better by itself.
      return {
        kind: 'drop',
        reason: `The Make scenario failed ${MAX_FAILED_RUNS} times on this event. Check its history.`,
      };
    }
    return classifyByStatus(response, { detail, now });
  },
});
