import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { vendorUrlField } from '../fields.ts';
import { classifyByStatus, retry, retryAfterSeconds } from '../shared/classify.ts';
import { eventEnvelope } from '../shared/envelope.ts';

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Webhook URL',
    description: 'The webhook URL of a Zap with the Webhooks by Zapier > Catch Hook trigger.',
    secret: true,
    example: 'https://hooks.zapier.com/hooks/catch/1234567/abc123/',
    host: /^hooks\.zapier\.com$/,
    // The URLs of the oldest hooks have no user ID. `silent` asks for an empty response.
    path: /^\/hooks\/catch\/(\d+\/)?[A-Za-z0-9_-]{4,64}(\/silent)?\/?$/,
    hint: 'Must be the URL of a Catch Hook, such as https://hooks.zapier.com/hooks/catch/…, without a query string.',
  }),
});

const THROTTLE_SECONDS = 30;

/** https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks */
export const zapier = defineConnector({
  type: 'zapier',
  title: 'Zapier',
  category: 'Automation',
  description: 'Sends every event to a Catch Hook, which can start a Zap.',
  documentationUrl: 'https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks',
  config,
  supportsEvent: () => true,
  // The limit for a single hook. All of a user's hooks together can receive 10,000 requests every five minutes.
  vendorLimit: {
    count: 30,
    perSeconds: 1,
    documentationUrl: 'https://zapier.com/help/rate-limiting/',
  },

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
      return retry('Zapier is rate limiting requests.', retryAfterSeconds(response, now) ?? THROTTLE_SECONDS);
    }
    const outcome = classifyByStatus('Zapier', response, { now });
    if (outcome.kind !== 'delivered') return outcome;
    return { kind: 'delivered', note: 'Zapier confirms every event, even if no Zap is turned on for the hook.' };
  },
});
