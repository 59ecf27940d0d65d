import { z } from 'zod';
import { defineConnector } from '../definition.ts';
import { choiceField, secretField } from '../fields.ts';
import { actorOf, eventName, eventProperties, revenueUsd } from '../shared/analytics.ts';
import { classifyByStatus, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { derivedId } from '../shared/derived-id.ts';

const HOSTS = { us: 'api.mixpanel.com', eu: 'api-eu.mixpanel.com', in: 'api-in.mixpanel.com' } as const;
// Mixpanel cuts longer strings.
const MAX_TEXT_LENGTH = 255;

const config = z.strictObject({
  projectToken: secretField({
    title: 'Project token',
    description: 'Mixpanel: Settings, Project Settings, Overview, Access Keys.',
    pattern: /^[A-Za-z0-9]{16,64}$/,
    hint: 'Paste the project token: letters and digits only.',
  }),
  region: choiceField(['us', 'eu', 'in'], {
    title: 'Region',
    description: 'Where the project keeps its data: United States, Europe or India.',
    decidesAddress: true,
  }).optional(),
});

/** https://docs.mixpanel.com/reference/import-events */
export const mixpanel = defineConnector({
  type: 'mixpanel',
  title: 'Mixpanel',
  category: 'Analytics',
  description: 'Every event becomes a Mixpanel event of the payer; settled payments carry the amount.',
  documentationUrl: 'https://docs.mixpanel.com/docs/orgs-and-projects/managing-projects#find-your-project-tokens',
  config,
  carries: () => true,

  build([event], { projectToken, region = 'us' }, { connectorId }) {
    const amount = revenueUsd(event);
    return {
      method: 'POST',
      // `/track` would answer 1 to anything; `/import` with `strict` says what is wrong.
      url: `https://${HOSTS[region]}/import?strict=1`,
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`${projectToken}:`)}` },
      body: JSON.stringify([
        {
          event: eventName(event),
          properties: {
            // Mixpanel takes two events for one only when name, person, time and this id are all the same.
            time: Date.parse(event.timestamp),
            distinct_id: actorOf(event) ?? '',
            $insert_id: derivedId(event.id, connectorId),
            // Keeps Mixpanel from placing every payer where this server stands.
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
      if (json === undefined) return retry('Mixpanel answered without confirming the event.');
      return { kind: 'drop', reason: 'Mixpanel answered 200 but imported nothing.' };
    }
    if (statusCode === 400) {
      const field = text('failed_records', 0, 'field');
      const message = text('failed_records', 0, 'message') || text('error');
      const detail = [field, message].filter(Boolean).join(': ');
      return classifyByStatus(response, { detail });
    }
    return classifyByStatus(response, { expected: [200], detail: text('error'), now });
  },

  probe: {
    build: ({ projectToken }) => ({
      method: 'POST',
      url: 'https://mixpanel.com/api/app/validate-project-credentials/',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ project_token: projectToken }),
    }),
    classify({ statusCode }) {
      if (statusCode === 200) return { ok: true, message: 'Mixpanel knows the project token.' };
      if (statusCode === 429 || statusCode >= 500) {
        return { ok: false, message: `Mixpanel could not check the token (HTTP ${statusCode}). Try again later.` };
      }
      return { ok: false, message: 'Mixpanel does not know the project token. Copy it again.' };
    },
  },
});
