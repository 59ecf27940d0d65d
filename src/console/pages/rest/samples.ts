import { OPERATIONS } from '../../../../packages/sdk/src/generated.ts';
import {
  filledPath,
  isExport,
  type JsonSchema,
  type Operation,
  type ParameterValues,
  queryOf,
  requestPath,
  valueOrPlaceholder,
} from '../../api/openapi.ts';
import { goProgram } from '../../parts/go-program.ts';
import { goString, pythonLiteral, quoted, shellWord, typescriptLiteral } from '../../parts/literals.ts';
import type { Language } from '../../parts/sample-languages.ts';

/** A request to show. `body` is undefined for requests without a body. `origin` is the server's: `https://tollgate.example.com`. */
export type SampleRequest = { operation: Operation; values: ParameterValues; body: unknown; origin: string };

/**
 * The same request in several languages. The token comes from the environment, which keeps it out of source code and
 * the shell history.
 */
export const SAMPLES: Readonly<Record<Language, (request: SampleRequest) => string>> = { curl, typescript, python, go };

function curl({ operation, values, body, origin }: SampleRequest): string {
  const { method } = operation;
  const lines = [
    `curl -sS ${isExport(operation) ? '--fail -OJ ' : ''}${method === 'GET' ? '' : `-X ${method} `}${shellWord(origin + requestPath(operation, values))}`,
    `-H "Authorization: Bearer $TOLLGATE_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${shellWord(JSON.stringify(body))}`]),
  ];
  return lines.join(' \\\n  ');
}

/** The request with the SDK (packages/sdk), whose table of operations provides the method and its arguments. */
function typescript({ operation, values, body, origin }: SampleRequest): string {
  const { resource, name, row } = sdkMethodOf(operation);
  const query = queryOf(operation, values)
    // The SDK sets the format of an export itself.
    .filter((parameter) => !(isExport(operation) && parameter.name === 'format'))
    .map((parameter) => [parameter.name, typedValue(parameter)] as const);
  const taken = [
    ...row.arguments.map((argument) => quoted(valueOrPlaceholder(argument, values))),
    ...(row.takes === 'body' && body !== undefined ? [typescriptLiteral(body)] : []),
    ...(row.takes === 'query' && query.length > 0 ? [typescriptLiteral(Object.fromEntries(query))] : []),
  ];
  const isInProject = operation.path.includes('{projectId}') && !row.arguments.includes('projectId');
  const call = `tollgate.${resource}.${name}(${taken.join(', ')})`;
  const hasResult = operation.responses['204'] === undefined;
  const use =
    row.returns === 'one'
      ? [...(hasResult ? [`const result = await ${call};`, 'console.log(result);'] : [`await ${call};`])]
      : [`for await (const item of ${call}) {`, '  console.log(item);', '}'];
  return [
    "import { Tollgate } from '@tollgate/sdk';",
    '',
    'const tollgate = new Tollgate({',
    `  baseUrl: ${quoted(origin)},`,
    '  token: process.env.TOLLGATE_TOKEN!,',
    ...(isInProject ? [`  projectId: ${quoted(valueOrPlaceholder('projectId', values))},`] : []),
    '});',
    '',
    ...use,
  ].join('\n');
}

function python({ operation, values, body, origin }: SampleRequest): string {
  const query = queryOf(operation, values).map(
    ({ name, values: given }) => [name, given.length > 1 ? given : given[0]] as const,
  );
  const isFile = isExport(operation);
  const show = isFile
    ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
    : operation.responses['204']
      ? []
      : ['print(response.json())'];
  return [
    'import os',
    '',
    'import requests',
    '',
    `response = requests.${operation.method.toLowerCase()}(`,
    `    ${JSON.stringify(origin + filledPath(operation, values))},`,
    `    headers={"Authorization": "Bearer " + os.environ["TOLLGATE_TOKEN"]},`,
    ...(query.length > 0 ? [`    params=${pythonLiteral(Object.fromEntries(query), '    ')},`] : []),
    ...(body === undefined ? [] : [`    json=${pythonLiteral(body, '    ')},`]),
    ...(isFile ? ['    stream=True,'] : []),
    '    timeout=30,',
    ')',
    'response.raise_for_status()',
    ...show,
  ].join('\n');
}

function go({ operation, values, body, origin }: SampleRequest): string {
  const hasBody = body !== undefined;
  return goProgram({
    imports: hasBody ? ['strings'] : [],
    setup: hasBody ? [`\tbody := strings.NewReader(${goString(JSON.stringify(body, null, 2))})`] : [],
    method: operation.method,
    url: origin + requestPath(operation, values),
    body: hasBody ? 'body' : undefined,
  });
}

type SdkRow = { method: string; path: string; arguments: readonly string[]; takes: string; returns: string };

/** The SDK's method for an operation. A test checks that every operation has one. */
function sdkMethodOf({ method, path }: Operation): { resource: string; name: string; row: SdkRow } {
  const all = Object.entries(OPERATIONS).flatMap(([resource, methods]) =>
    Object.entries<SdkRow>(methods).map(([name, row]) => ({ resource, name, row })),
  );
  const found = all.find(({ row }) => row.method === method && row.path === path);
  if (!found) throw new Error(`The SDK has no method for ${method} ${path}.`);
  return found;
}

/** A query parameter as the SDK expects it: numbers and booleans aren't strings. */
function typedValue({ values, schema }: { values: string[]; schema: JsonSchema }): unknown {
  if (schema.type === 'array') return values;
  const [value = ''] = values;
  if (schema.type === 'integer') return Number(value);
  return schema.type === 'boolean' ? value === 'true' : value;
}
