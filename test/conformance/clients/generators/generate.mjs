// Generates a client with each generator, in the current folder, whose `node_modules` has the generators.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createClient } from '@hey-api/openapi-ts';
import { build } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';
import Postman from 'openapi-to-postmanv2';
import openapiTS, { astToString } from 'openapi-typescript';
import { generate as orval } from 'orval';
import { generateApi } from 'swagger-typescript-api';

const url = process.argv[2];
const root = process.cwd();

// By default, both a schema and the response of an operation would be called `CreateWebhookResponse`.
const heyApiTypes = { name: '@hey-api/typescript', responses: { response: '{{name}}Success' } };
await createClient(
  [
    { input: url, output: 'hey-api', plugins: [heyApiTypes, '@hey-api/sdk', '@hey-api/client-fetch'] },
    { input: url, output: 'hey-api-axios', plugins: [heyApiTypes, '@hey-api/sdk', '@hey-api/client-axios'] },
  ].map((job) => ({ ...job, logs: { level: 'silent', file: false } })),
);

const document = JSON.parse(await readFile('openapi.json', 'utf8'));
const { error, failedPlugins } = await build({
  config: {
    root,
    input: { path: url },
    output: { path: './kubb', barrelType: false },
    plugins: [
      pluginOas({ generators: [], validate: false }),
      pluginTs({ output: { path: 'types' } }),
      pluginClient({
        output: { path: 'clients' },
        client: 'fetch',
        dataReturnType: 'full',
        baseURL: document.servers[0].url,
      }),
    ],
  },
});
if (error ?? failedPlugins.size > 0) throw new Error('kubb failed', { cause: error });

await generateApi({
  url,
  output: `${root}/swagger-typescript-api`,
  fileName: 'api.ts',
  generateUnionEnums: true,
  silent: true,
});

await orval({
  input: { target: url },
  output: { client: 'fetch', target: `${root}/orval/api.ts`, baseUrl: { getBaseUrlFromSpecification: true } },
});

await mkdir('openapi-typescript', { recursive: true });
const types = await openapiTS(new URL(url), { defaultNonNullable: false });
await writeFile('openapi-typescript/api.ts', astToString(types));

const collection = await new Promise((resolve, reject) => {
  const options = { enableOptionalParameters: false, parametersResolution: 'Example' };
  Postman.convertV2({ type: 'json', data: document }, options, (failure, { result, reason, output }) => {
    if (failure ?? !result) reject(failure ?? new Error(reason));
    else resolve(output[0].data);
  });
});
await writeFile('postman.json', JSON.stringify(collection));
