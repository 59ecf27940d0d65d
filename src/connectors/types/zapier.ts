import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { vendorUrlField } from '../fields.ts';
import { classifyByStatus, retry, retryAfterSeconds } from '../shared/classify.ts';
import { eventEnvelope } from '../shared/envelope.ts';

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'Zapier: a Zap with the trigger Webhooks by Zapier, event Catch Hook; copy its webhook URL.',
    secret: true,
    example: 'https://hooks.zapier.com/hooks/catch/1234567/abc123/',
    host: /^hooks\.zapier\.com$/,
    // The user id is missing in the oldest hooks; `silent` asks for an empty answer.
    path: /^\/hooks\/catch\/(\d+\/)?[A-Za-z0-9_-]{4,64}(\/silent)?\/?$/,
    hint: 'Must be the whole URL of a Catch Hook, like https://hooks.zapier.com/hooks/catch/1234567/abc123/, without a query.',
  }),
});

const THROTTLE_SECONDS = 30;

/** https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks */
export const zapier = defineConnector({
  type: 'zapier',
  title: 'Zapier',
  category: 'Automation',
  description: 'Every event is sent to a Catch Hook and can start a Zap.',
  documentationUrl: 'https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks',
  config,
  carries: () => true,

  build([event], { webhookUrl }) {
    return {
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
      body: eventEnvelope(event),
    };
  },

  classify(response, { now }) {
    if (response.statusCode === 429) {
      return retry('Zapier asked to slow down.', retryAfterSeconds(response, now) ?? THROTTLE_SECONDS);
    }
    const outcome = classifyByStatus(response, { now });
    if (outcome.kind !== 'delivered') return outcome;
    return { kind: 'delivered', note: 'Zapier confirms every event, also when no Zap is switched on behind the hook.' };
  },
});
