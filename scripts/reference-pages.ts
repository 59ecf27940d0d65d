import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { VARIABLES } from '../src/config/variables.ts';
import { describeFields } from '../src/connectors/describe.ts';
import { listConnectors } from '../src/connectors/types/registry.ts';
import { AppError, ERRORS, type ErrorCode } from '../src/errors.ts';
import { schema } from '../src/graphql/schema.ts';
import { createOpenApi } from '../src/rest/openapi.ts';
import { connectorPages } from './connector-pages.ts';
import { ERROR_ADVICE } from './error-advice.ts';
import { ERROR_EXAMPLES } from './error-examples.ts';
import { eventSchemas, eventsPage } from './event-pages.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** The committed files that are made from the code: path from the root of the repository → text. */
export function referencePages(): Map<string, string> {
  return new Map([
    ['schema.graphql', `${printSchema(lexicographicSortSchema(schema))}\n`],
    ['docs/configuration.md', configurationPage()],
    ['docs/connectors/README.md', connectorsPage()],
    ...connectorPages(),
    ['docs/errors.md', errorsPage()],
    ['docs/event-schemas.json', json('docs/event-schemas.json', eventSchemas())],
    ['docs/events.md', eventsPage()],
    ['docs/openapi.json', json('docs/openapi.json', createOpenApi(schema))],
  ]);
}

const GENERATED = '<!-- Made from the code by `npm run generate:docs`. Edit the code, not this page. -->';

function configurationPage(): string {
  const rows = Object.entries(VARIABLES).map(([name, { schema, help }]) => {
    const { data } = schema.safeParse(undefined);
    const text = Array.isArray(data) ? data.join(',') : String(data ?? '');
    return `| \`${name}\` | ${text && `\`${text}\``} | ${help} |`;
  });
  return `${GENERATED}

# Configuration

Everything is set by environment variables, read once at start. An empty value counts as none. A value that cannot be
used stops the start with a line for each problem and exit code 1; \`NODE_ENV=production\` refuses unsafe ones likewise.

| Variable | Default | Meaning |
|---|---|---|
${rows.join('\n')}

In development everything is optional. Production needs \`NODE_ENV=production\`, \`AUTH_ISSUERS\` and \`SECRET_KEYS\`, and
should have \`DATABASE_URL\`: the embedded PostgreSQL is one machine's. See [deployment](deployment.md).
`;
}

function connectorsPage(): string {
  const rows = listConnectors().map((definition) => {
    const fields = describeFields(definition).map(
      ({ name, required, secret }) => `\`${name}\`${secret ? '🔒' : ''}${required ? '' : ' (optional)'}`,
    );
    const { type, title, category, description } = definition;
    return `| [\`${type}\`](${type}.md) | ${title} | ${category} | ${description} | ${fields.join(', ')} |`;
  });
  return `${GENERATED}

# Connectors

A connector delivers events to a third-party service in that service's own form. Each page says where to get the
credential, what arrives, and what happens when it fails.

| Type | Service | Category | What arrives | Config |
|---|---|---|---|---|
${rows.join('\n')}

🔒 is a secret: encrypted when stored, and read back as \`••••\` with its last four characters at most. The same table
with every field's form is \`GET /api/connector-types\`, or \`connectorTypes\` in GraphQL.

Common to all:

- \`eventTypes\` chooses the [kinds of events](../events.md), \`["*"]\` all. A kind that a type does not carry is recorded
  as a \`SKIPPED\` delivery with the reason \`not_carried\`.
- Failures are retried on the [schedule of webhooks](../webhooks.md#retries). A refused credential pauses the connector:
  its deliveries are held, and a new \`config\` releases them, or \`isActive: true\`.
- On \`PATCH\`, \`config\` is merged: fields left out, and secrets sent back as they were shown, stay; \`null\` removes an
  optional field.
- A change of a field that decides where a connector sends (\`decidesAddress\` in that table: URLs, regions, sites) needs
  every secret of the config again, in full or \`null\`. Else it is refused with 422, which names each. So whoever may edit
  a connector cannot have its secrets sent to an address of their own.
- Messages for people link to their event in the [console](../console.md). The address begins with
  [\`PUBLIC_URL\`](../configuration.md). Without it, links lead to the address the process listens on; in production, and from a
  process without the role \`api\`, messages then have no link.
- How many an account may have is a matter of its [tier](../limits.md).
`;
}

function errorsPage(): string {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const rows = codes.map((code) => {
    const retry = new AppError(code).retryable ? 'yes' : 'no';
    return `| [\`${code}\`](#${code.toLowerCase()}) | ${ERRORS[code].status} | ${ERRORS[code].message} | ${retry} |`;
  });
  const sections = codes.map(
    (code) => `### \`${code}\`\n\n${ERROR_ADVICE[code]}\n\nFor example: ${ERROR_EXAMPLES[code]}\n`,
  );
  return `${GENERATED}

# Errors

Every error has a stable code. Base your logic on the code (or the status), show the message, and keep the request ID: it is
also in the \`X-Request-Id\` header and in the service's log.

REST responds with \`application/problem+json\` (RFC 9457):

\`\`\`json
{
  "type": "urn:tollgate:problem:validation-failed",
  "title": "One or more fields are invalid. See \`errors\` for details.",
  "status": 422,
  "detail": "Invalid walletAddress: the zero address cannot receive payments.",
  "instance": "/api/projects",
  "code": "VALIDATION_FAILED",
  "requestId": "req_6f0f7f0e-6f1c-4a53-8d37-0a7ad2f1a8f6",
  "errors": [{ "pointer": "/walletAddress", "message": "The zero address cannot receive payments." }]
}
\`\`\`

\`title\` is the message of the code, \`detail\` the same or a more exact one. \`errors\` lists the invalid fields, if any.

In GraphQL, \`data\` is \`null\` where the error happened, and \`errors[0].extensions\` has the same details.

\`\`\`json
{
  "message": "Invalid walletAddress: the zero address cannot receive payments.",
  "path": ["createProject"],
  "extensions": {
    "code": "VALIDATION_FAILED",
    "retryable": false,
    "requestId": "req_6f0f7f0e-6f1c-4a53-8d37-0a7ad2f1a8f6",
    "field": "/walletAddress",
    "errors": [{ "pointer": "/walletAddress", "message": "The zero address cannot receive payments." }]
  }
}
\`\`\`

| Code | Status | Message | Retry unchanged |
|---|---|---|---|
${rows.join('\n')}

## When, and what to do

${sections.join('\n')}`;
}

/** JSON as Biome formats the file, so that the linter has nothing to say about it. */
function json(path: string, value: unknown): string {
  const biome = resolve(ROOT, 'node_modules/.bin/biome');
  const options = { cwd: ROOT, input: JSON.stringify(value), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr, error } = spawnSync(biome, ['format', `--stdin-file-path=${path}`], options);
  if (status !== 0) throw new Error(`${path} could not be formatted: ${error?.message ?? stderr}`);
  return stdout;
}
