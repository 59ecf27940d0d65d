import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type {
  BuildContext,
  ConnectorDefinition,
  ConnectorEvent,
  ConnectorRequest,
} from '../src/connectors/definition.ts';
import { listConnectors } from '../src/connectors/types/registry.ts';
import { EVENT_KINDS, type EventKind } from '../src/events/kinds.ts';
import { SAMPLE_PAYLOADS } from '../src/events/samples.ts';
import { MARK, sampleConfig } from '../test/connectors/support/configs.ts';

const ROOT = resolve(import.meta.dirname, '..');
const HEADING = '## The request';
const LONGEST_TEXT = 160;

/** What a reader wants to see first, of what the type carries. */
const PREFERRED: readonly EventKind[] = [
  'payment.settled',
  'revenue.daily_summary',
  'customer.milestone',
  'payment.failed',
];

const CONTEXT: BuildContext = {
  connectorId: 'con_01jc9x2v5qe3w8k4m6n7p9r0st',
  projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
  projectName: 'Weather API',
  selectedKinds: new Set(EVENT_KINDS),
  memory: {},
  attemptNumber: 1,
  previousAttemptAmbiguous: false,
  now: new Date('2026-01-02T03:04:07.678Z'),
};

/** The page of every connector type, which people write, with its section about the request, which is made from the code. */
export function connectorPages(): [path: string, text: string][] {
  return listConnectors().map((definition) => {
    const path = `docs/connectors/${definition.type}.md`;
    const page = readFileSync(resolve(ROOT, path), 'utf8');
    const start = page.indexOf(`${HEADING}\n`);
    const end = page.indexOf('\n## ', start + 1) + 1;
    if (start < 0 || end === 0) throw new Error(`${path}: there is no "${HEADING}", or nothing behind it`);
    return [path, page.slice(0, start) + requestSection(definition) + page.slice(end)];
  });
}

function requestSection(definition: ConnectorDefinition): string {
  const [kind, request] = sampleRequest(definition);
  const [, other] = sampleRequest(definition, MARK.replace('k3y0', 'y0k3'));
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `${name}: ${value === other.headers[name] ? value : '…'}`,
  );
  const text = [`${request.method} ${request.url}`, ...headers, ...(request.body ? ['', bodyText(request)] : [])];
  return `${HEADING}

What is sent ${request.step ? 'first ' : ''}for a sample \`${kind}\`. \`…\` stands for your credential, and for what is left out of long
texts. This section is made from the code.

\`\`\`http
${text.join('\n').replaceAll(MARK, '…')}
\`\`\`

`;
}

function sampleRequest(definition: ConnectorDefinition, mark = MARK): [EventKind, ConnectorRequest] {
  for (const kind of PREFERRED) {
    if (!definition.carries(kind, CONTEXT.selectedKinds)) continue;
    const event = {
      id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      type: kind,
      timestamp: '2026-01-02T03:04:05.678Z',
      projectId: CONTEXT.projectId,
      test: false,
      data: SAMPLE_PAYLOADS[kind],
    } as ConnectorEvent;
    const config = definition.config.parse(sampleConfig(definition.type, 'required', mark));
    const built = definition.build([event], config, CONTEXT);
    if (!('skip' in built)) return [kind, built];
  }
  throw new Error(`${definition.type} carries none of ${PREFERRED.join(', ')}`);
}

function bodyText({ headers, body = '' }: ConnectorRequest): string {
  if (headers['content-type'] === 'application/x-www-form-urlencoded')
    return Array.from(new URLSearchParams(body), ([name, value]) => `${name}=${value}`).join('\n');
  const values = headers['content-type'] === 'application/x-ndjson' ? body.trimEnd().split('\n') : [body];
  return values.map((value) => JSON.stringify(JSON.parse(value), shortened, 2)).join('\n');
}

function shortened(_name: string, value: unknown): unknown {
  const isLong = typeof value === 'string' && value.length > LONGEST_TEXT;
  return isLong ? `${value.slice(0, LONGEST_TEXT)}…` : value;
}
