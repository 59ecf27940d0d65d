import { z } from 'zod';
import { SAMPLE_PAYLOADS } from '../events/samples.ts';
import {
  EVENT_PAYLOAD_VERSION,
  EVENT_PAYLOADS,
  EVENT_TYPE_DESCRIPTIONS,
  EVENT_TYPES,
  type EventType,
  schemaName,
} from '../events/types.ts';
import { header, type Json } from './openapi-schemas.ts';

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function dataSchema(eventType: EventType): Json {
  // With `io: 'input'`, the schema allows unknown fields.
  const { $schema: _draft, ...schema } = z.toJSONSchema(EVENT_PAYLOADS[eventType], { io: 'input' });
  return { description: EVENT_TYPE_DESCRIPTIONS[eventType], ...schema };
}

function bodySchema(eventType: EventType): Json {
  return {
    type: 'object',
    description: EVENT_TYPE_DESCRIPTIONS[eventType],
    required: ['id', 'type', 'timestamp', 'projectId', 'data'],
    properties: {
      id: { type: 'string', description: 'ID of the event, the same on every attempt. Also sent as `webhook-id`.' },
      type: { type: 'string', const: eventType },
      timestamp: { type: 'string', format: 'date-time', description: 'When the event happened, in UTC.' },
      projectId: { type: 'string', description: 'ID of the project.' },
      data: refTo(`${schemaName(eventType)}Data`),
      test: { type: 'boolean', const: true, description: 'Present only on test events.' },
    },
  };
}

/** What events contain, and the requests that webhooks get. */
export const EVENT_SCHEMAS: Json = {
  ...Object.fromEntries(EVENT_TYPES.map((eventType) => [`${schemaName(eventType)}Data`, dataSchema(eventType)])),
  ...Object.fromEntries(EVENT_TYPES.map((eventType) => [`${schemaName(eventType)}Event`, bodySchema(eventType)])),
  EventData: {
    description: 'What an event contains, which depends on its type.',
    anyOf: EVENT_TYPES.map((eventType) => refTo(`${schemaName(eventType)}Data`)),
  },
};

export const EVENT_DATA: Json = refTo('EventData');

/** The requests that webhooks get, by event type. */
export function eventWebhooks(): Json {
  return Object.fromEntries(EVENT_TYPES.map((eventType) => [eventType, { post: webhookRequest(eventType) }]));
}

function webhookRequest(eventType: EventType): Json {
  const example = {
    id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
    type: eventType,
    timestamp: '2026-01-02T03:04:05.678Z',
    projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
    data: SAMPLE_PAYLOADS[eventType],
  };
  return {
    operationId: `on${schemaName(eventType)}`,
    summary: EVENT_TYPE_DESCRIPTIONS[eventType],
    security: [],
    parameters: [
      inHeader('webhook-id', 'ID of the event. Use it to recognize repeated deliveries.'),
      inHeader('webhook-timestamp', 'When this attempt was signed, in Unix seconds.'),
      inHeader(
        'webhook-signature',
        'One or more signatures, separated by spaces. See the Standard Webhooks specification.',
      ),
      inHeader('tollgate-payload-version', `The version of \`data\`, at most ${EVENT_PAYLOAD_VERSION}.`),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: refTo(`${schemaName(eventType)}Event`), example } },
    },
    responses: {
      '2XX': { description: 'The delivery succeeded.' },
      default: {
        description: 'The delivery is retried.',
        headers: { 'Retry-After': header('Seconds to wait before the next attempt.') },
      },
    },
  };
}

const inHeader = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});
