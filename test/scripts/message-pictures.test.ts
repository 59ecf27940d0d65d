import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documentOf } from '../../scripts/pictures/page.ts';
import { MESSAGE_PAGES, messagePage, PICTURE_CONTEXT, picturedEvent } from '../../scripts/pictures/pictures.ts';
import type { ConnectorType } from '../../src/connectors/definition.ts';
import { describeEvent } from '../../src/connectors/shared/message.ts';
import { toGsmText } from '../../src/connectors/types/gsm-text.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';
import { EVENT_TYPES, type EventType } from '../../src/events/types.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');
const MAX_PICTURE_BYTES = 70_000;
const TYPES = Object.keys(MESSAGE_PAGES) as ConnectorType[];

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };
const decode = (html: string) => html.replace(/&([a-z]+|#39);/g, (_, name: string) => ENTITIES[name]!);
/** The text that a reader sees, and the targets of the links. */
const visible = (html: string) => decode(html.replace(/<[^>]*>/g, ''));
const targets = (html: string) =>
  Array.from(html.matchAll(/(?:title|href)="([^"#][^"]*)"/g), ([, url]) => decode(url!));

/** An SMS has room for little more than the title. */
function expectedTexts(type: ConnectorType, eventType: EventType): string[] {
  const { heading, detail, facts, eventId } = describeEvent(picturedEvent(eventType), PICTURE_CONTEXT);
  const all = [heading, detail, eventId];
  return type === 'twilio' ? all.map(toGsmText) : [...all, ...facts.flatMap(({ label, value }) => [label, value])];
}

describe.each(TYPES)('the picture of a message of type %s', (type) => {
  test.each(EVENT_TYPES)('shows every field of the message about %s, and its links', (eventType) => {
    const { url, transactionUrl } = describeEvent(picturedEvent(eventType), PICTURE_CONTEXT);
    const { body } = messagePage(type, eventType);
    const text = visible(body);
    expect(expectedTexts(type, eventType).filter((part) => !text.includes(part))).toEqual([]);
    const links = [url!, ...(transactionUrl ? [transactionUrl] : [])];
    expect(links.filter((link) => type !== 'twilio' && !targets(body).includes(link))).toEqual([]);
    expect(text).not.toMatch(/undefined|\[object|&lt;|\\/);
  });

  test('is small, and is shown on its connector’s page', () => {
    const picture = `images/message-${type}.png`;
    expect(statSync(resolve(DOCS, picture)).size).toBeLessThan(MAX_PICTURE_BYTES);
    expect(readFileSync(resolve(DOCS, `connectors/${type}.md`), 'utf8')).toContain(`](../${picture})`);
  });
});

test('every connector type that sends messages to people has a picture', () => {
  const types = listConnectors().filter(({ category }) => category === 'Communication');
  expect(TYPES.toSorted()).toEqual(types.map(({ type }) => type).toSorted());
});

test('the page of a picture loads nothing', () => {
  for (const type of TYPES) {
    const html = documentOf(messagePage(type, 'payment.settled'));
    expect(html).not.toMatch(/<(?:img|script|link|iframe)|url\(|@import/);
  }
});
