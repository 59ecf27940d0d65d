import { parser } from '@lezer/go';
import { describe, expect, test } from 'vitest';
import { EXAMPLES } from '../../src/console/pages/graphql/examples.ts';
import { GRAPHQL_SAMPLES } from '../../src/console/pages/graphql/samples.ts';
import { SAMPLES, type SampleRequest } from '../../src/console/pages/rest/samples.ts';
import { graphqlSamples } from './graphql-samples.ts';
import { fullRequest, REFERENCE } from './openapi-requests.ts';

function requestOf(operationId: string, changes: Partial<SampleRequest> = {}): SampleRequest {
  const operation = REFERENCE.operations.find((candidate) => candidate.operationId === operationId)!;
  return { operation, values: {}, body: undefined, origin: 'https://tollgate.example.com', ...changes };
}

const CREATE = requestOf('createEndpoint', {
  values: { projectId: 'proj_1' },
  body: { path: '/it’s', description: "it's `raw`", isActive: true, headers: [{ name: 'a', value: null }], tags: [] },
});
const LIST = requestOf('listDeliveries', { values: { projectId: 'proj_1', status: 'FAILED, SKIPPED', limit: '5' } });

describe('samples of requests', () => {
  test('curl quotes the body for the shell, and repeats query parameters with several values', () => {
    expect(SAMPLES.curl(CREATE)).toBe(
      String.raw`curl -sS -X POST 'https://tollgate.example.com/api/projects/proj_1/endpoints' \
  -H "Authorization: Bearer $TOLLGATE_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{"path":"/it’s","description":"it'\''s ${'`raw`'}","isActive":true,"headers":[{"name":"a","value":null}],"tags":[]}'`,
    );
    expect(SAMPLES.curl(LIST)).toContain('/deliveries?limit=5&status=FAILED&status=SKIPPED');
    expect(SAMPLES.curl(requestOf('exportPayments'))).toContain('--fail -OJ');
  });

  test('TypeScript uses the SDK: one result, a list, an export, and no result', () => {
    expect(SAMPLES.typescript(CREATE)).toBe(`import { Tollgate } from '@tollgate/sdk';

const tollgate = new Tollgate({
  baseUrl: 'https://tollgate.example.com',
  token: process.env.TOLLGATE_TOKEN!,
  projectId: 'proj_1',
});

const result = await tollgate.endpoints.create({
  path: '/it’s',
  description: 'it\\'s \`raw\`',
  isActive: true,
  headers: [
    {
      name: 'a',
      value: null,
    },
  ],
  tags: [],
});
console.log(result);`);
    expect(SAMPLES.typescript(LIST)).toContain(
      "for await (const item of tollgate.deliveries.list({\n  limit: 5,\n  status: ['FAILED', 'SKIPPED'],\n})) {",
    );
    const exported = requestOf('exportPayments', { values: { projectId: 'proj_1', format: 'csv' } });
    expect(SAMPLES.typescript(exported)).toContain('for await (const item of tollgate.payments.export()) {');
    const deletion = SAMPLES.typescript(requestOf('deleteWebhook'));
    expect(deletion).toContain("\nawait tollgate.webhooks.delete('WEBHOOK_ID');");
    expect(deletion).toContain("projectId: 'PROJECT_ID',");
    expect(SAMPLES.typescript(requestOf('deleteProject'))).not.toContain('projectId:');
  });

  test('Python uses Python literals, and reads exports line by line', () => {
    expect(SAMPLES.python(CREATE)).toBe(`import os

import requests

response = requests.post(
    "https://tollgate.example.com/api/projects/proj_1/endpoints",
    headers={"Authorization": "Bearer " + os.environ["TOLLGATE_TOKEN"]},
    json={
        "path": "/it’s",
        "description": "it's \`raw\`",
        "isActive": True,
        "headers": [
            {
                "name": "a",
                "value": None,
            },
        ],
        "tags": [],
    },
    timeout=30,
)
response.raise_for_status()
print(response.json())`);
    expect(SAMPLES.python(LIST)).toContain('"status": ["FAILED", "SKIPPED"],');
    expect(SAMPLES.python(requestOf('exportPayments'))).toContain('for line in response.iter_lines');
    expect(SAMPLES.python(requestOf('deleteWebhook'))).not.toContain('json()');
  });

  test('Go sends the body as a raw string, unless it contains a backtick', () => {
    const raw = SAMPLES.go({ ...CREATE, body: { priceUsd: '0.01' } });
    expect(raw).toContain('body := strings.NewReader(`{\n  "priceUsd": "0.01"\n}`)');
    expect(raw).toContain(
      'http.NewRequest(http.MethodPost, "https://tollgate.example.com/api/projects/proj_1/endpoints", body)',
    );
    expect(SAMPLES.go(CREATE)).toContain('strings.NewReader("{\\n  \\"path\\": \\"/it’s\\",');
    expect(SAMPLES.go(LIST)).not.toContain('"strings"');
  });

  test('a GraphQL operation is sent with its variables, and a subscription is read as it arrives', () => {
    const [query] = graphqlSamples([{ name: 'Tier', query: 'query Tier {\n  viewer { tier } # `\n}' }]);
    expect(GRAPHQL_SAMPLES.typescript(query!)).toBe(`const query = \`query Tier {
  viewer { tier } # \\\`
}\`;
const variables = {
  projectId: 'proj_1',
};

const response = await fetch('https://tollgate.example.com/graphql', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.TOLLGATE_TOKEN}\`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({ query, variables, operationName: 'Tier' }),
});
const { data, errors } = (await response.json()) as { data?: unknown; errors?: unknown[] };
if (errors) throw new Error(JSON.stringify(errors));
console.log(data);`);
    const live = graphqlSamples(EXAMPLES).find(({ isLive }) => isLive)!;
    for (const write of Object.values(GRAPHQL_SAMPLES)) expect(write(live)).toContain('text/event-stream');
    expect(GRAPHQL_SAMPLES.python(live)).toContain('stream=True');
  });

  test.each([
    ...REFERENCE.operations.map((operation) => [operation.operationId, SAMPLES.go(fullRequest(operation))]),
    ...graphqlSamples(EXAMPLES).map((sample) => [sample.operationName, GRAPHQL_SAMPLES.go(sample)]),
  ] as [string, string][])('%s has a Go sample without syntax errors and with gofmt’s tabs', (_name, sample) => {
    expect(syntaxErrors(sample)).toEqual([]);
    const code = sample.replaceAll(/`[^`]*`/g, '``');
    expect(code.match(/^ +|[ \t]+$/gm)).toBeNull();
    // In Go, it's a compiler error if a package is imported but not used, or used but not imported.
    const imported = [...code.matchAll(/^\t"(?:\w+\/)*(\w+)"$/gm)].map(([, name]) => name);
    const used = new Set([...code.matchAll(/\b([a-z]+)\.[A-Z]/g)].map(([, name]) => name));
    const variables = ['request', 'response'];
    expect(imported.sort()).toEqual([...used].filter((name) => !variables.includes(name!)).sort());
  });

  test('the check for syntax errors in Go finds a syntax error', () => {
    expect(syntaxErrors('package main\n\nfunc main() {\n\tx := \n}')).not.toEqual([]);
  });
});

function syntaxErrors(code: string): string[] {
  const errors: string[] = [];
  parser.parse(code).iterate({
    enter({ type, from }) {
      if (type.isError) errors.push(`${code.slice(0, from).split('\n').length}: ${code.slice(from, from + 20)}`);
    },
  });
  return errors;
}
