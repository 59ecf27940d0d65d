import { z } from 'zod';
import { webhookBody } from '../src/delivery/send/webhook-request.ts';
import {
  EVENT_KIND_DESCRIPTIONS,
  EVENT_KINDS,
  EVENT_PAYLOAD_VERSION,
  EVENT_PAYLOADS,
  type EventKind,
} from '../src/events/kinds.ts';
import { SAMPLE_PAYLOADS } from '../src/events/samples.ts';
import { PAYLOAD_VERSIONS } from '../src/events/versions.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

const EXAMPLE = {
  id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
  timestamp: new Date('2026-01-02T03:04:05.678Z'),
  projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
};

/**
 * The JSON Schema (draft 2020-12) of a webhook's body: one of the kinds, each under `$defs`. Unknown fields are allowed,
 * since payloads grow.
 */
export function eventSchemas(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Tollgate event',
    description: `The body of a webhook. Payload version ${EVENT_PAYLOAD_VERSION}.`,
    oneOf: EVENT_KINDS.map((kind) => ({ $ref: `#/$defs/${kind}` })),
    $defs: Object.fromEntries(EVENT_KINDS.map((kind) => [kind, bodySchema(kind)])),
  };
}

function bodySchema(kind: EventKind): JsonSchema {
  return {
    type: 'object',
    description: EVENT_KIND_DESCRIPTIONS[kind],
    required: ['id', 'type', 'timestamp', 'projectId', 'data'],
    properties: {
      id: { type: 'string', description: 'Identifier of the event, the same on every try; also the `webhook-id`.' },
      type: { const: kind },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened, in UTC.' },
      projectId: { type: 'string', description: 'The project it happened in.' },
      data: dataSchema(kind),
      test: { const: true, description: 'Only on events that were sent by hand.' },
    },
    examples: [JSON.parse(exampleBody(kind))],
  };
}

function dataSchema(kind: EventKind): JsonSchema {
  // As of an input, zod's schema lets unknown fields pass.
  const { $schema: _draft, ...schema } = z.toJSONSchema(EVENT_PAYLOADS[kind], { io: 'input' });
  return schema as JsonSchema;
}

function exampleBody(kind: EventKind): string {
  const { id, timestamp, projectId } = EXAMPLE;
  return webhookBody(
    { id, type: kind, test: false, timestamp, data: JSON.stringify(SAMPLE_PAYLOADS[kind]) },
    projectId,
  );
}

export function eventsPage(): string {
  return `<!-- Made from the code by \`npm run generate:docs\`. Edit the code, not this page. -->

# Events

What happened is recorded once as an event, in the transaction that made it happen, and delivered to every
[webhook](webhooks.md) and [connector](connectors/README.md) that is subscribed to its kind. In \`eventTypes\`, \`*\` stands
for all kinds.

| Kind | When |
|---|---|
${EVENT_KINDS.map((kind) => `| [\`${kind}\`](#${anchor(kind)}) | ${EVENT_KIND_DESCRIPTIONS[kind]} |`).join('\n')}

In GraphQL the same kinds are spelled \`PAYMENT_SETTLED\` and so on, and \`*\` is \`ALL\`.

The body is the same object for all kinds: \`id\` (the same on every try), \`type\`, \`timestamp\` (ISO 8601, UTC),
\`projectId\`, and \`data\` as below. Events sent by hand to try a receiver out have \`"test": true\` at the end. Amounts are
decimal strings (\`amountUsd\`) and whole atomic units (\`amountAtomic\`), never floats. Payloads grow: new fields may be
added at any time, none is renamed or removed within a version, so ignore what you do not know.

The [JSON Schema](event-schemas.json) (draft 2020-12) of every body is made from the same definitions; its \`$defs\` are
named by kind.

## Versions

${versionTable()}

A webhook is sent the one in its [\`payloadVersion\`](webhooks.md#payload-versions).

${EVENT_KINDS.map(kindSection).join('\n')}`;
}

/** Each version with the kinds that it changed. */
function versionTable(): string {
  const versions = Array.from({ length: PAYLOAD_VERSIONS.current }, (_, index) => index + 1);
  const changes = (version: number) =>
    version === 1 ? 'The first' : EVENT_KINDS.filter((kind) => PAYLOAD_VERSIONS.down[kind]?.[version]).join(', ');
  const rows = versions.map((version) => `| ${version} | ${changes(version)} |`);
  return ['| Version | What it changed |', '|---|---|', ...rows].join('\n');
}

function kindSection(kind: EventKind): string {
  const { properties = {} } = dataSchema(kind);
  const rows = Object.entries(properties).map(([name, property]) => {
    const { description = '' } = property as JsonSchema;
    return `| \`${name}\` | ${typeOf(property as JsonSchema)} | ${description} |`;
  });
  return `## ${kind}

${EVENT_KIND_DESCRIPTIONS[kind]}

| Field of \`data\` | Type | |
|---|---|---|
${rows.join('\n')}

\`\`\`json
${JSON.stringify(JSON.parse(exampleBody(kind)), null, 2)}
\`\`\`
`;
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map((option) => typeOf(option as JsonSchema)).join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`"${value}"\``).join(', ');
  if (schema.type !== 'array') return [schema.type].flat().join(' or ');
  const { properties = {} } = schema.items as JsonSchema;
  return `list of { ${Object.keys(properties).join(', ')} }`;
}

/** As GitHub makes it of a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9_ -]/g, '')
    .replaceAll(' ', '-');
}
