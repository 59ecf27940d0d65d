import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { choiceField, secretField } from '../fields.ts';
import { actorOf, eventName, eventProperties, revenueUsd } from '../shared/analytics.ts';
import { classifyByStatus, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { derivedId } from '../shared/derived-id.ts';

const HOSTS = { us: 'api.mixpanel.com', eu: 'api-eu.mixpanel.com', in: 'api-in.mixpanel.com' } as const;
// Mixpanel truncates longer strings.
const MAX_TEXT_LENGTH = 255;

const config = z.strictObject({
  projectToken: secretField({
    title: 'Project token',
    description: 'In Mixpanel: Settings > Project Settings > Overview > Access Keys.',
    pattern: /^[A-Za-z0-9]{16,64}$/,
    hint: 'Must be the project token: letters and digits only.',
  }),
  region: choiceField(['us', 'eu', 'in'], {
    title: 'Region',
    description: 'The data residency of your Mixpanel project: us (default), eu, or in (India).',
    decidesAddress: true,
  }).optional(),
});

/** https://docs.mixpanel.com/reference/import-events */
export const mixpanel = defineConnector({
  type: 'mixpanel',
  title: 'Mixpanel',
  category: 'Analytics',
  description: 'Sends every event to Mixpanel, with the payer as the user. Settled payments include the amount.',
  documentationUrl: 'https://docs.mixpanel.com/docs/orgs-and-projects/managing-projects#find-your-project-tokens',
  config,
  supportsEvent: () => true,

  build([event], { projectToken, region = 'us' }, { connectorId }) {
    const amount = revenueUsd(event);
    return {
      method: 'POST',
      // `/track` would return 1 for anything; `/import` with `strict` reports errors.
      url: `https://${HOSTS[region]}/import?strict=1`,
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`${projectToken}:`)}` },
      body: JSON.stringify([
        {
          event: eventName(event),
          properties: {
            // Mixpanel deduplicates events only if they have the same name, user, time, and `$insert_id`.
            time: Date.parse(event.timestamp),
            distinct_id: actorOf(event) ?? '',
            $insert_id: derivedId(event.id, connectorId),
            // Otherwise, Mixpanel would use this server's location for every payer.
            ip: 0,
            ...eventProperties(event, MAX_TEXT_LENGTH),
            ...(amount === undefined ? {} : { amount, currency: 'USD' }),
          },
        },
      ]),
    };
  },

  classify(response, { config: { projectToken }, now }) {
    const json = parseJson(response.body);
    const text = (...path: (string | number)[]) => vendorText(valueAt(json, ...path), [projectToken]);
    const { statusCode } = response;
    if (statusCode === 200) {
      if (valueAt(json, 'num_records_imported') === 1) return { kind: 'delivered' };
      if (json === undefined) return retry('Mixpanel responded without confirming the event.');
      return { kind: 'drop', reason: 'Mixpanel returned 200 but imported nothing.' };
    }
    if (statusCode === 400) {
      const field = text('failed_records', 0, 'field');
      const message = text('failed_records', 0, 'message') || text('error');
      const detail = [field, message].filter(Boolean).join(': ');
      return classifyByStatus('Mixpanel', response, { detail });
    }
    return classifyByStatus('Mixpanel', response, { expected: [200], detail: text('error'), now });
  },

  probe: {
    build: ({ projectToken }) => ({
      method: 'POST',
      url: 'https://mixpanel.com/api/app/validate-project-credentials/',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ project_token: projectToken }),
    }),
    classify({ statusCode }) {
      if (statusCode === 200) return { ok: true, message: 'The project token is valid.' };
      if (statusCode === 429 || statusCode >= 500) {
        return {
          ok: false,
          message: `Mixpanel couldn't check the project token (HTTP ${statusCode}). Try again later.`,
        };
      }
      return { ok: false, message: "The project token isn't valid. Copy it again from Mixpanel." };
    },
  },
});
