import { AdaptiveCard, SerializationContext, Versions } from 'adaptivecards';
import { expect, test } from 'vitest';
import { teams } from '../../../src/connectors/types/teams.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
import { builtJson, HOSTILE_TEXTS, sampleContext, sampleEvent } from '../support/samples.ts';

// Microsoft has no library for posting to a workflow, and a workflow accepts any body, then fails silently. That's why
// this test uses the official Adaptive Cards parser, which must accept the card without dropping anything.

const webhookUrl =
  'https://default0.73.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/0/triggers/manual/paths/invoke?sig=x';
const config = { webhookUrl, envelope: 'card' as const };

test.each(EVENT_TYPES)('the official parser accepts the card for %s', (eventType) => {
  const context = sampleContext({ consoleUrl: 'https://console.example.com/events/evt_1' });
  for (const event of [sampleEvent(eventType), ...HOSTILE_TEXTS.map((text) => hostileEvent(eventType, text))]) {
    expectCleanCard(builtJson(teams, config, event, context));
  }
});

test('the official parser rejects a broken card', () => {
  const card = builtJson(teams, config, sampleEvent('payment.settled'));
  card.body.push({ type: 'NoSuchElement' });
  expect(() => expectCleanCard(card)).toThrow();
});

function expectCleanCard(source: object): void {
  const parsing = new SerializationContext(Versions.v1_4);
  const card = new AdaptiveCard();
  card.parse(source, parsing);
  const complaints = Array.from({ length: parsing.eventCount }, (_, index) => parsing.getEventAt(index).message);
  expect(complaints).toEqual([]);
  expect(card.validateProperties().validationEvents.map(({ message }) => message)).toEqual([]);
  const { $schema, msteams, ...read } = source as Record<string, unknown>;
  expect(JSON.parse(JSON.stringify(card.toJSON()))).toMatchObject(read);
}
