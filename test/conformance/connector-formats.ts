import { expect } from 'vitest';
import type { ConnectorEvent, ConnectorType } from '../../src/connectors/definition.ts';
import type { ConnectorRequest } from '../../src/connectors/exchange.ts';
import { gsmLength } from '../../src/connectors/types/gsm-text.ts';
import { readBody } from './connector-requests.ts';

/** Checks that untrusted text stays text in the vendor's format, and that every field is within its limit. */
export type FormatCheck = (request: ConnectorRequest, event: ConnectorEvent) => void;

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const CONTROL_BUT_BREAKS = /[^\P{Cc}\n]/u;
/** Characters that change the reading direction or are invisible. */
const DECEPTIVE = /[\u200B\u202A-\u202E\u2066-\u2069\uFEFF]/;

const json = (request: ConnectorRequest) => JSON.parse(request.body ?? '');
const atMost = (text: unknown, length: number) => expect(String(text).length).toBeLessThanOrEqual(length);

const isOneLine = (text: unknown): boolean => !CONTROL.test(String(text)) && !DECEPTIVE.test(String(text));

function oneLine(text: unknown): void {
  expect(String(text)).not.toMatch(CONTROL);
  expect(String(text)).not.toMatch(DECEPTIVE);
}

/** https://docs.slack.dev/reference/block-kit/blocks: untrusted text is in `plain_text`, and `<` is always escaped. */
const slack: FormatCheck = (request) => {
  const { text, blocks } = json(request);
  expect(blocks.length).toBeLessThanOrEqual(50);
  type Text = { type: string; text: string };
  const texts: Text[] = blocks.flatMap((block: { text?: Text; fields?: Text[]; elements?: Text[] }) => [
    ...(block.text ? [block.text] : []),
    ...(block.fields ?? []),
    ...(block.elements ?? []),
  ]);
  for (const block of blocks) {
    if (block.type === 'header') atMost(block.text.text, 150);
    expect((block.fields ?? []).length).toBeLessThanOrEqual(10);
    for (const field of block.fields ?? []) atMost(field.text, 2000);
  }
  const ours =
    /<!date\^\d+\^[^|<>]*\|[^<>]*>|<https:\/\/console\.example\/[^|<>]*\|Open in the console>|<https:\/\/sepolia\.basescan\.org\/tx\/0x[0-9a-f]{64}\|View the transaction>/g;
  for (const each of [text, ...texts.map((entry) => entry.text)]) {
    expect(each.replace(ours, '')).not.toMatch(/[<>]/);
    oneLine(each);
  }
  for (const { type, text: label } of texts.filter(({ type: kind }) => kind === 'mrkdwn')) {
    expect(type === 'mrkdwn' && /^\*[A-Z][\w() ]*\*$|evt_/.test(label)).toBe(true);
  }
};

/** https://discord.com/developers/docs/resources/message#embed-object-embed-limits */
const discord: FormatCheck = (request) => {
  const { allowed_mentions: mentions, embeds, content } = json(request);
  expect(mentions).toEqual({ parse: [] });
  expect(content).toBeUndefined();
  expect(embeds).toHaveLength(1);
  const { title, description = '', fields, footer } = embeds[0];
  atMost(title, 256);
  atMost(description, 4096);
  atMost(footer.text, 2048);
  expect(fields.length).toBeLessThanOrEqual(25);
  const all: string[] = [title, description];
  for (const { name, value } of fields) {
    expect(value).not.toBe('');
    atMost(name, 256);
    atMost(value, 1024);
    all.push(value);
  }
  const names = fields.map(({ name }: { name: string }) => name);
  expect([...all, ...names, footer.text].join('').length).toBeLessThanOrEqual(6000);
  const ours =
    /\[Open in the console\]\(<https:\/\/console\.example\/[^<>]*>\)|\[View the transaction\]\(https:\/\/sepolia\.basescan\.org\/tx\/0x[0-9a-f]{64}\)/g;
  for (const text of all) {
    const unescaped = text.replace(ours, '').replace(/\\./gs, '');
    expect(unescaped).not.toMatch(/[*_~`|><[\]()@#]/);
    expect(unescaped).not.toContain('://');
    oneLine(text);
  }
};

/** https://core.telegram.org/bots/api#html-style: Telegram finds no links, mentions, or commands inside `<code>`. */
const telegram: FormatCheck = (request) => {
  const { text, parse_mode: mode, link_preview_options: preview } = json(request);
  expect([mode, preview]).toEqual(['HTML', { is_disabled: true }]);
  const outside = text
    .replace(/<code>[^<>]*<\/code>/g, '')
    .replace(/<b>[^<>]*<\/b>/g, '')
    .replace(/<a href="https:\/\/console\.example\/[^"<>]*">Open in the console<\/a>/g, '')
    .replace(/<a href="https:\/\/sepolia\.basescan\.org\/tx\/0x[0-9a-f]{64}">View the transaction<\/a>/g, '');
  expect(outside).toMatch(/^[\w :(),.\n-]*$/);
  const visible = text.replace(/<[^>]+>/g, '').replace(/&(?:lt|gt|amp|quot|#39);/g, '.');
  atMost(visible, 4096);
  expect(visible).not.toMatch(/&(?!\w+;)/);
  expect(text).not.toMatch(CONTROL_BUT_BREAKS);
};

const TAGS = /<!doctype html>|<\/?(?:html|body|div|h1|p|table|tr|td|a)(?: (?:lang|style|role|href)="[^"<>]*")*>/g;

function mail(subject: string, text: string, html: string): void {
  oneLine(subject);
  atMost(subject, 255);
  expect(text).not.toMatch(CONTROL_BUT_BREAKS);
  expect(html.replace(TAGS, '')).not.toMatch(/[<>"]/);
  for (const [, target] of html.matchAll(/href="([^"]*)"/g))
    expect(target).toMatch(/^https:\/\/(?:console\.example\/|sepolia\.basescan\.org\/tx\/0x[0-9a-f]{64}$)/);
}

const sendgrid: FormatCheck = (request) => {
  const { subject, content, custom_args: args } = json(request);
  mail(subject, content[0].value, content[1].value);
  atMost(JSON.stringify(args), 10_000);
};

const resend: FormatCheck = (request) => {
  const { subject, text, html, tags } = json(request);
  mail(subject, text, html);
  for (const { name, value } of tags) expect(`${name}${value}`).toMatch(/^[\w-]{1,256}$/);
};

/**
 * Rich text doesn't interpret Markdown, and the blocks that do interpret it contain only our text. A flow accepts 28
 * KB.
 */
const teams: FormatCheck = (request) => {
  const body = json(request);
  const card = body.attachments?.[0].content ?? body;
  atMost(request.body, 20_000);
  expect(JSON.stringify(card.msteams)).toBe('{"width":"Full"}');
  // One `expect` for the card, because each of its hundreds of elements would need its own.
  const isFlawed = ({ type, text }: { type?: string; text?: string }): boolean =>
    (type === 'TextBlock' && !/^(\[Test\] )?[A-Z][a-z ]+$/.test(String(text))) ||
    (type === 'TextRun' && !isOneLine(text)) ||
    ['FactSet', 'Image', 'Media'].includes(String(type));
  const flawsIn = (value: unknown): unknown[] => {
    if (typeof value !== 'object' || value === null) return [];
    return [...(isFlawed(value) ? [value] : []), ...Object.values(value).flatMap(flawsIn)];
  };
  expect(flawsIn(card)).toEqual([]);
};

const twilio: FormatCheck = (request) => {
  const form = new URLSearchParams(request.body);
  expect([...form.keys()].toSorted()).toEqual(['Body', 'From', 'To', 'ValidityPeriod']);
  const body = form.get('Body') ?? '';
  // A single character outside this alphabet would more than double the price.
  expect(body).toMatch(/^[\n\x20-\x5f\x61-\x7e]+$/);
  expect(gsmLength(body)).toBeLessThanOrEqual(160);
};

function properties(values: object, maxTextLength: number, maxCount: number): void {
  const entries = Object.entries(values);
  expect(entries.length).toBeLessThanOrEqual(maxCount);
  const flawed = entries.filter(
    ([name, value]) =>
      !/^[a-z]\w{0,39}$/.test(name) ||
      ['token', '__proto__'].includes(name) ||
      !['string', 'number', 'boolean'].includes(typeof value) ||
      String(value).length > maxTextLength ||
      !isOneLine(value),
  );
  expect(flawed).toEqual([]);
}

const segment: FormatCheck = (request) => {
  const { event, properties: values, messageId } = json(request);
  expect(event).toMatch(/^[A-Z][A-Za-z ]+$/);
  expect(messageId).toMatch(/^[0-9a-f]{32}$/);
  properties(values, 500, 250);
};

const mixpanel: FormatCheck = (request) => {
  const { time, ip, distinct_id, $insert_id, ...values } = json(request)[0].properties;
  expect($insert_id).toMatch(/^[A-Za-z0-9-]{1,36}$/);
  atMost(distinct_id, 255);
  properties(values, 255, 250);
};

const amplitude: FormatCheck = (request) => {
  const [{ event_properties: values, insert_id: id }] = json(request).events;
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  properties(values, 1024, 250);
};

/** https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference#limitations */
const ga4: FormatCheck = (request) => {
  const { events, client_id: client } = json(request);
  expect(client).toMatch(/^\d+\.\d+$/);
  for (const { name, params } of events) {
    expect(name).toMatch(/^[A-Za-z]\w{0,39}$/);
    const { items = [], ...scalars } = params;
    properties(scalars, 100, 24);
    for (const item of items) properties(item, 100, 20);
  }
};

/** The unchanged payload, which receivers should treat as data, according to the documentation. */
const envelope: FormatCheck = (request, event) => {
  const { data, id, type } = json(request);
  expect([id, type]).toEqual([event.id, event.type]);
  expect(data).toEqual(JSON.parse(JSON.stringify(event.data)));
};

/** https://developer.pagerduty.com/docs/send-alert-event */
const pagerduty: FormatCheck = (request) => {
  const { payload, dedup_key: key = '' } = json(request);
  atMost(key, 255);
  if (!payload) return;
  atMost(payload.summary, 1024);
  atMost(payload.source, 255);
  for (const text of [payload.summary, payload.source, ...Object.values(payload.custom_details)]) oneLine(text);
};

/** https://docs.datadoghq.com/events/guides/markdown_events: anyone mentioned with an @ is notified. */
const datadog: FormatCheck = (request) => {
  const { title, text, tags, aggregation_key: key } = json(request);
  atMost(title, 500);
  atMost(text, 4000);
  atMost(key, 100);
  oneLine(title);
  expect(`${title} ${text}`).not.toContain('@');
  const inner = /^%%% \n(?<inner>.*)\n %%%$/s.exec(text)?.groups?.inner ?? '%%%';
  expect(inner).not.toContain('%%%');
  for (const line of inner.split('\n')) {
    expect(line).toMatch(
      /^- [A-Z][\w() ]*: `[^`]*`…?$|^- Time: [\dTZ:.-]+$|^- \[Open in the console\]\(https:\/\/console\.example\/[^()]*\)$/,
    );
  }
  for (const tag of tags) expect(tag).toMatch(/^[a-z]+:[^,]{1,190}$/);
};

/** https://docs.opsgenie.com/docs/alert-api#create-alert */
const opsgenie: FormatCheck = (request) => {
  const { message = '', alias = '', description = '', entity = '', tags = [], details = {} } = json(request);
  atMost(message, 130);
  atMost(alias, 512);
  atMost(description, 15_000);
  atMost(entity, 512);
  expect(description).not.toMatch(/[<>]/);
  expect(description).not.toMatch(CONTROL_BUT_BREAKS);
  expect(tags.length).toBeLessThanOrEqual(20);
  for (const tag of tags) atMost(tag, 50);
  for (const text of [message, entity, ...Object.values(details)]) oneLine(text);
};

/** Databases accept neither NUL nor lone surrogates, and a payload column contains JSON. */
function row(values: Record<string, unknown>, payload: unknown): void {
  for (const value of Object.values(values)) if (typeof value === 'string') storable(value);
  expect(() => JSON.parse(String(payload))).not.toThrow();
}

function storable(text: string): void {
  expect(text).not.toMatch(/\0|\\u0000/);
  expect(text.isWellFormed()).toBe(true);
}

const bigquery: FormatCheck = (request) => {
  const { json: values } = json(request).rows[0];
  row(values, values.payload);
};

const supabase: FormatCheck = (request) => {
  const values = json(request);
  row(values, JSON.stringify(values.payload));
  storable(JSON.stringify(values.payload));
};

/** https://owasp.org/www-community/attacks/CSV_Injection */
const googleSheets: FormatCheck = (request) => {
  for (const cells of json(request).values) {
    expect(cells).toHaveLength(10);
    for (const cell of cells) {
      expect(['string', 'number']).toContain(typeof cell);
      if (typeof cell !== 'string') continue;
      atMost(cell, 50_000);
      expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
    }
  }
};

const dune: FormatCheck = (request) => {
  for (const line of (request.body ?? '').trimEnd().split('\n')) {
    const values = JSON.parse(line);
    row(values, values.payload);
  }
};

const salesforce: FormatCheck = (request) => {
  const values = json(request);
  atMost(values.Payload__c, 32_768);
  row(values, values.Payload__c);
};

const hubspot: FormatCheck = (request) => {
  for (const { properties: values } of json(request).inputs) for (const value of Object.values(values)) oneLine(value);
};

/** Linear turns text outside of code spans into links and formatting. */
const linear: FormatCheck = (request) => {
  const { title, description } = json(request).variables.input;
  atMost(title, 255);
  oneLine(title);
  const lines = description.split('\n').filter((line: string) => line !== '');
  for (const line of lines) {
    expect(line).toMatch(
      /^- \*\*[A-Z][\w() ]*:\*\* `[^`]+`$|^This is the day's first failure [\w ,.']+$|^\[Open the event\]\(<https:\/\/console\.example\/[^<>]*>\)$/,
    );
  }
};

const booking: FormatCheck = (request) => {
  for (const text of readBody(request).strings) {
    atMost(text, 4000);
    oneLine(text);
  }
};

export const FORMATS: Record<ConnectorType, FormatCheck> = {
  slack,
  discord,
  email: sendgrid,
  resend,
  telegram,
  teams,
  twilio,
  segment,
  mixpanel,
  amplitude,
  ga4,
  zapier: envelope,
  n8n: envelope,
  make: envelope,
  pagerduty,
  datadog,
  opsgenie,
  bigquery,
  supabase,
  'google-sheets': googleSheets,
  dune,
  hubspot,
  salesforce,
  linear,
  quickbooks: booking,
  xero: booking,
};
