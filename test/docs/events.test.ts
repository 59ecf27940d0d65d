import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { webhookBody } from '../../src/delivery/send/webhook-request.ts';
import { SAMPLE_PAYLOADS } from '../../src/events/samples.ts';
import { EVENT_TYPES, type EventType } from '../../src/events/types.ts';
import { ROOT } from './pages.ts';

const schema = JSON.parse(await readFile(join(ROOT, 'docs/event-schemas.json'), 'utf8'));
const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(schema);

function bodyOf(type: EventType, { test, more = {} }: { test: boolean; more?: object }) {
  const data = JSON.stringify({ ...SAMPLE_PAYLOADS[type], ...more });
  const event = { id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st', type, test, timestamp: new Date(), data };
  return JSON.parse(webhookBody(event, 'proj_01jc9x2v5qe3w8k4m6n7p9r0st'));
}

test.each(EVENT_TYPES)('the published schema accepts a webhook of %s, even with additional fields', (eventType) => {
  expect(validate(bodyOf(eventType, { test: false })), JSON.stringify(validate.errors)).toBe(true);
  expect(validate(bodyOf(eventType, { test: true, more: { aLaterField: 1 } }))).toBe(true);
});

test.each(EVENT_TYPES)('the published schema rejects a webhook of %s if a field is missing', (eventType) => {
  const [name] = Object.keys(SAMPLE_PAYLOADS[eventType]);
  expect(validate(bodyOf(eventType, { test: false, more: { [name!]: undefined } }))).toBe(false);
});
