import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type {
  BuildContext,
  ConnectorDefinition,
  ConnectorEvent,
  ConnectorMemory,
  ConnectorType,
} from '../src/connectors/definition.ts';
import { describeDelays, describeFields, describeLimit } from '../src/connectors/describe.ts';
import type { ConnectorRequest } from '../src/connectors/exchange.ts';
import { listConnectors } from '../src/connectors/types/registry.ts';
import { SAMPLE_PAYLOADS } from '../src/events/samples.ts';
import { EVENT_TYPES, type EventType } from '../src/events/types.ts';
import { MARK, sampleConfig } from '../test/connectors/support/configs.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LONGEST_TEXT = 160;
const LINE_LENGTH = 110;

/** The event types that make the best examples, best first. */
const PREFERRED: readonly EventType[] = [
  'payment.settled',
  'revenue.daily_summary',
  'customer.milestone',
  'payment.failed',
];

const CONTEXT: BuildContext = {
  connectorId: 'con_01jc9x2v5qe3w8k4m6n7p9r0st',
  projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
  projectName: 'Weather API',
  selectedTypes: new Set(EVENT_TYPES),
  memory: {},
  attemptNumber: 1,
  previousAttemptAmbiguous: false,
  isRetry: false,
  now: new Date('2026-01-02T03:04:07.678Z'),
};

/**
 * Data that connectors remember from earlier deliveries. With it, the first request of the example delivers the event.
 */
const MEMORIES: Partial<Record<ConnectorType, ConnectorMemory>> = {
  'google-sheets': { 'tab:1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms:': '0:Payments' },
};

/** The page for each connector type. Pages are handwritten, except for the sections generated from the code. */
export function connectorPages(): [path: string, text: string][] {
  return listConnectors().map((definition) => {
    const path = `docs/connectors/${definition.type}.md`;
    let page = readFileSync(resolve(ROOT, path), 'utf8');
    for (const [heading, body] of Object.entries(generatedSections(definition))) {
      const start = page.indexOf(`${heading}\n`);
      const end = page.indexOf('\n## ', start + 1) + 1;
      if (start < 0 || end === 0) throw new Error(`${path}: "${heading}" is missing or is the last section`);
      page = `${page.slice(0, start)}${heading}\n\n${body}\n\n${page.slice(end)}`;
    }
    return [path, page];
  });
}

function generatedSections(definition: ConnectorDefinition): Record<string, string> {
  return { '## Configuration': configTable(definition), '## Example request': exampleRequest(definition) };
}

function configTable(definition: ConnectorDefinition): string {
  const yesNo = (value: boolean) => (value ? 'yes' : 'no');
  const rows = describeFields(definition).map(
    ({ name, required, secret, description }) =>
      `| \`${name}\` | ${yesNo(required)} | ${yesNo(secret)} | ${description} |`,
  );
  const { title, vendorLimit } = definition;
  const owner = title.endsWith('s') ? `${title}'` : `${title}'s`;
  const limit = vendorLimit
    ? [
        '',
        `Deliveries are paced to stay within ${owner} limit of [${describeLimit(definition)}](${vendorLimit.documentationUrl}).`,
        ...(vendorLimit.concurrency === 1
          ? ["A connector's requests never overlap. Each one waits for the previous one to finish."]
          : []),
      ]
    : [];
  const delays = describeDelays(definition);
  const retries = delays
    ? [
        '',
        `Failed deliveries are retried after ${delays} (±20%). There are no [quick retries](../webhooks.md#retries).`,
      ]
    : [];
  return ['| Field | Required | Secret | Description |', '|---|---|---|---|', ...rows, ...limit, ...retries].join('\n');
}

function exampleRequest(definition: ConnectorDefinition): string {
  const [eventType, request] = sampleRequest(definition);
  const [, other] = sampleRequest(definition, MARK.replace('k3y0', 'y0k3'));
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `${name}: ${value === other.headers[name] ? value : '…'}`,
  );
  const text = [`${request.method} ${request.url}`, ...headers, ...(request.body ? ['', bodyText(request)] : [])];
  return `This is the ${request.step ? 'first ' : ''}request for a \`${eventType}\` event. \`…\` stands for credentials and for omitted text.

\`\`\`http
${text.join('\n').replaceAll(MARK, '…')}
\`\`\``;
}

function sampleRequest(definition: ConnectorDefinition, mark = MARK): [EventType, ConnectorRequest] {
  for (const eventType of PREFERRED) {
    if (!definition.supportsEvent(eventType, CONTEXT.selectedTypes)) continue;
    const event = {
      id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      type: eventType,
      timestamp: '2026-01-02T03:04:05.678Z',
      projectId: CONTEXT.projectId,
      test: false,
      data: SAMPLE_PAYLOADS[eventType],
    } as ConnectorEvent;
    const config = definition.config.parse(sampleConfig(definition.type, 'required', mark));
    const context = { ...CONTEXT, memory: MEMORIES[definition.type] ?? {} };
    const built = definition.build([event], config, context);
    if (!('skip' in built)) return [eventType, built];
  }
  throw new Error(`${definition.type} supports none of ${PREFERRED.join(', ')}`);
}

function bodyText({ headers, body = '' }: ConnectorRequest): string {
  if (headers['content-type'] === 'application/x-www-form-urlencoded')
    return Array.from(new URLSearchParams(body), ([name, value]) => `${name}=${value}`).join('\n');
  const values = headers['content-type'] === 'application/x-ndjson' ? body.trimEnd().split('\n') : [body];
  return values.map((value) => formatJson(JSON.parse(value, shortened))).join('\n');
}

function shortened(_name: string, value: unknown): unknown {
  const isLong = typeof value === 'string' && value.length > LONGEST_TEXT;
  return isLong ? `${value.slice(0, LONGEST_TEXT)}…` : value;
}

/** Like `JSON.stringify` with indentation, but keeps objects and arrays on one line if they fit. */
function formatJson(value: unknown, indent = ''): string {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  if (typeof value !== 'object' || value === null || (indent && indent.length + line.length < LINE_LENGTH)) return line;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const inner = `${indent}  `;
  const members = Object.entries(value).map(([name, member]) => {
    return `${inner}${Array.isArray(value) ? '' : `${JSON.stringify(name)}: `}${formatJson(member, inner)}`;
  });
  return `${open}\n${members.join(',\n')}\n${indent}${close}`;
}
