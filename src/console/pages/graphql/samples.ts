import type { OperationDefinitionNode } from 'graphql';
import { GO_FAILURE, goProgram } from '../../parts/go-program.ts';
import { goString, pythonLiteral, quoted, shellWord, typescriptLiteral } from '../../parts/literals.ts';
import type { Language } from '../../parts/sample-languages.ts';

/** An operation to show. `origin` is the server's: `https://tollgate.example.com`. */
export type GraphqlSample = {
  query: string;
  variables: Readonly<Record<string, unknown>>;
  /** Needed if the document has several operations. */
  operationName?: string | undefined;
  /** Whether it is a subscription, whose results are sent as server-sent events. */
  isLive: boolean;
  origin: string;
};

/** The same operation in several languages. The token comes from the environment, as in the samples of REST requests. */
export const GRAPHQL_SAMPLES: Readonly<Record<Language, (sample: GraphqlSample) => string>> = {
  curl,
  typescript,
  python,
  go,
};

/** An operation as it would be sent from this page. */
export function sampleOf(
  query: string,
  variables: Readonly<Record<string, unknown>>,
  operation: OperationDefinitionNode | undefined,
  origin: string,
): GraphqlSample {
  const isLive = operation?.operation === 'subscription';
  return { query, variables, operationName: operation?.name?.value, isLive, origin };
}

function curl({ query, variables, operationName, isLive, origin }: GraphqlSample): string {
  const body = JSON.stringify({ query, variables, ...(operationName && { operationName }) });
  const lines = [
    `curl -sS ${isLive ? '-N ' : ''}'${origin}/graphql'`,
    `-H "Authorization: Bearer $TOLLGATE_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    ...(isLive ? [`-H 'Accept: text/event-stream'`] : []),
    `-d ${shellWord(body)}`,
  ];
  return lines.join(' \\\n  ');
}

function typescript({ query, variables, operationName, isLive, origin }: GraphqlSample): string {
  const show = isLive
    ? [
        'const decoder = new TextDecoder();',
        'for await (const part of response.body!) {',
        '  process.stdout.write(decoder.decode(part, { stream: true }));',
        '}',
      ]
    : [
        'const { data, errors } = (await response.json()) as { data?: unknown; errors?: unknown[] };',
        'if (errors) throw new Error(JSON.stringify(errors));',
        'console.log(data);',
      ];
  return [
    `const query = ${templateString(query)};`,
    `const variables = ${typescriptLiteral(variables)};`,
    '',
    `const response = await fetch(${quoted(`${origin}/graphql`)}, {`,
    "  method: 'POST',",
    '  headers: {',
    '    Authorization: `Bearer ${process.env.TOLLGATE_TOKEN}`,',
    "    'Content-Type': 'application/json',",
    ...(isLive ? ["    Accept: 'text/event-stream',"] : []),
    '  },',
    `  body: JSON.stringify({ query, variables${operationName ? `, operationName: ${quoted(operationName)}` : ''} }),`,
    '});',
    ...show,
  ].join('\n');
}

function python({ query, variables, operationName, isLive, origin }: GraphqlSample): string {
  const show = isLive
    ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
    : [
        'result = response.json()',
        'if "errors" in result:',
        '    raise RuntimeError(result["errors"])',
        'print(result["data"])',
      ];
  return [
    'import os',
    '',
    'import requests',
    '',
    `query = ${pythonText(query)}`,
    `variables = ${pythonLiteral(variables, '')}`,
    '',
    'response = requests.post(',
    `    ${JSON.stringify(`${origin}/graphql`)},`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["TOLLGATE_TOKEN"],',
    ...(isLive ? ['        "Accept": "text/event-stream",'] : []),
    '    },',
    `    json={"query": query, "variables": variables${operationName ? `, "operationName": ${JSON.stringify(operationName)}` : ''}},`,
    ...(isLive ? ['    stream=True,'] : ['    timeout=30,']),
    ')',
    'response.raise_for_status()',
    ...show,
  ].join('\n');
}

function go({ query, variables, operationName, isLive, origin }: GraphqlSample): string {
  return goProgram({
    imports: ['bytes', 'encoding/json'],
    setup: [
      `\tquery := ${goString(query)}`,
      `\tvariables := json.RawMessage(${goString(JSON.stringify(variables, null, 2))})`,
      '\tbody, err := json.Marshal(map[string]any{',
      '\t\t"query":     query,',
      '\t\t"variables": variables,',
      ...(operationName ? [`\t\t"operationName": ${JSON.stringify(operationName)},`] : []),
      '\t})',
      ...GO_FAILURE,
    ],
    method: 'POST',
    url: `${origin}/graphql`,
    body: 'bytes.NewReader(body)',
    headers: isLive ? { Accept: 'text/event-stream' } : {},
  });
}

function templateString(text: string): string {
  return `\`${text.replaceAll(/[\\`]|\$\{/g, String.raw`\$&`)}\``;
}

/** Text on several lines, unless it contains what ends such text in Python. */
function pythonText(text: string): string {
  return /"""|\\|"$/.test(text) ? JSON.stringify(text) : `"""${text}"""`;
}
