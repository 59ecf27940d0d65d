import { describe, expect, test } from 'vitest';
import type { ConnectorDefinition, ConnectorEvent } from '../../src/connectors/definition.ts';
import { supportedEventTypes } from '../../src/connectors/describe.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';
import type { EventType } from '../../src/events/types.ts';
import { sampleConfig } from '../connectors/support/configs.ts';
import { deliver, deliveringRequest } from '../connectors/support/deliver.ts';
import { EVENT_TIME, HOSTILE_TEXTS, sampleEvent } from '../connectors/support/samples.ts';
import { FORMATS } from './connector-formats.ts';

/** Fields that can contain text from a buyer or the seller: paths, reasons, descriptions, and chain names. */
const FREE_TEXT = /^(endpointPath|path|method|asset|network|reason|message|description|upstreamUrl)$/;

const TEXTS: readonly string[] = [
  ...HOSTILE_TEXTS,
  '<!here|x> <#C1|general> <https://evil.example|click>',
  '<@&123456789012345678> <@123> <#123> </x:1> <t:1:R> -# small\n# Big',
  '</code></b><a href="https://evil.example">x</a><code>',
  '`` ` ``` [x](<javascript:alert(1)>) ![i](https://evil.example/i.png) https://evil.example www.evil.example',
  "=cmd|'/C calc'!A0",
  '\t=1+1',
  '\r\n.\r\nRCPT TO:<victim@example.com>',
  '@all @payments-oncall {{@webhook}} {{#is_alert}} %%%\n@x\n%%%',
  '<at>everyone</at> <a href="x">y</a> **b** {{DATE(2026-01-02T03:04:05Z,SHORT)}}',
  `' OR 1=1 --"; DROP TABLE payments; /*`,
  '\u2028\u2029\u0085\u000b\u2066hidden\u2069',
  '^{}[]~|\\€₿“”…→ß'.repeat(30),
  '\\'.repeat(300),
  '&lt;b&gt; &#60;script&#62; %3Cscript%3E \\u003cscript\\u003e',
  '__proto__',
  ' ',
];

const ENDPOINT_ID = 'ep_01jc9x2v5qe3w8k4m6n7p9r0st';
const memory = { [`open:${ENDPOINT_ID}`]: new Date(Date.parse(EVENT_TIME) - 60_000).toISOString() };
const consoleUrl = 'https://console.example/projects/proj_1/events/evt_1?a=1&b=2';

/** Returns an event with `text` in one of its free-text fields, or in all of them. */
function withText(eventType: EventType, text: string, only?: string): ConnectorEvent {
  const event = sampleEvent(eventType);
  const replace = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => replace(item, name));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, replace(item, field)]));
    }
    return typeof value === 'string' && FREE_TEXT.test(name) && (only ?? name) === name ? text : value;
  };
  return { ...event, data: replace(event.data, '') } as ConnectorEvent;
}

function freeFields(eventType: EventType): string[] {
  const names = JSON.stringify(sampleEvent(eventType).data).match(/"(\w+)":/g) ?? [];
  return [...new Set(names.map((name) => name.slice(1, -2)))].filter((name) => FREE_TEXT.test(name));
}

function check(
  definition: ConnectorDefinition,
  event: ConnectorEvent,
  projectName: string,
  configs: readonly object[],
): void {
  for (const config of configs as readonly Record<string, unknown>[]) {
    const { outcome, requests } = deliver(definition, config, [event], { memory, projectName, consoleUrl });
    // Tens of thousands of requests are checked, so there is one `expect` per request, with details only for failures.
    const request = deliveringRequest(requests);
    const unprintable = [request.url, ...Object.values(request.headers)].filter(
      (value) => !/^[\x20-\x7e]*$/.test(value),
    );
    expect([outcome.kind, request.body!.isWellFormed(), ...unprintable]).toEqual(['delivered', true]);
    FORMATS[definition.type](request, event);
  }
}

describe.each(listConnectors().map((definition) => [definition.type, definition] as const))(
  '%s',
  (_type, definition) => {
    test.each(supportedEventTypes(definition))(
      "shows hostile text in any field of %s as plain text within the vendor's limits",
      (eventType) => {
        const required = [sampleConfig(definition.type)];
        for (const text of TEXTS) {
          try {
            check(definition, withText(eventType, text), text, [...required, sampleConfig(definition.type, 'all')]);
            for (const name of freeFields(eventType))
              check(definition, withText(eventType, text, name), 'Shop', required);
            check(definition, sampleEvent(eventType), text, required);
          } catch (error) {
            throw new Error(`with ${JSON.stringify(text.slice(0, 60))}: ${(error as Error).message}`, { cause: error });
          }
        }
      },
    );
  },
);
