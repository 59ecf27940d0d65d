/** A generator of TypeScript clients: the source of a program that uses what it generates. */
export type Generated = {
  /** Exports `open`, which returns an `Adapter`. */
  adapter: string;
  /** Imports the types of request bodies: `CreateWebhookRequest`, and so on. */
  types: string;
};

/** What each generated client has to offer the journey. The types are those that a person would write by hand. */
export const ADAPTER = `
export type Problem = { code: string; errors?: { pointer: string }[] };
export type NewWebhook = {
  name: string;
  url: string;
  eventTypes: 'payment.settled'[];
  headers: { name: string; value: string }[];
  filter: { 'data.amountUsd': { gte: string } };
};
export type Adapter = {
  createProject(body: { name: string; walletAddress: string }): Promise<string>;
  createWebhook(projectId: string, body: NewWebhook): Promise<{ id: string; secret: string } | Problem>;
  listNames(projectId: string, query: { isActive: boolean; limit: number }): Promise<(string | null)[]>;
  rename(projectId: string, id: string, name: string): Promise<string | null>;
  remove(projectId: string, id: string): Promise<number>;
};
`;

/** Creates a project and webhooks, and writes what happened to standard output as JSON. */
export const JOURNEY = `
import { open } from './adapter';
import type { NewWebhook } from './contract';

const client = open(process.env.TOKEN!);
const projectId = await client.createProject({ name: 'Weather', walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045' });
const webhook: NewWebhook = {
  name: 'Books', url: 'https://books.example/tollgate', eventTypes: ['payment.settled'],
  headers: [{ name: 'X-Source', value: 'tollgate' }], filter: { 'data.amountUsd': { gte: '1.00' } },
};
const created = await client.createWebhook(projectId, webhook);
if ('code' in created) throw new Error(JSON.stringify(created));
const active = await client.listNames(projectId, { isActive: true, limit: 5 });
const disabled = await client.listNames(projectId, { isActive: false, limit: 5 });
const renamed = await client.rename(projectId, created.id, 'Accounting');
const problem = await client.createWebhook(projectId, { ...webhook, name: 'x'.repeat(61) });
const removed = await client.remove(projectId, created.id);
const left = await client.listNames(projectId, { isActive: true, limit: 5 });
console.log(JSON.stringify({ secret: created.secret.slice(0, 6), active, disabled, renamed, problem, removed, left }));
`;

/** Statements that compile with the generated types. */
export const RIGHT = [
  "const webhook: CreateWebhookRequest = { url: 'https://a.example/', eventTypes: ['*'], headers: [{ name: 'X-A', value: 'b' }], authentication: { type: 'BEARER', token: 't' } };",
  "const filtered: UpdateWebhookRequest = { filter: { or: [{ 'data.amountUsd': { gte: '1.00' } }, { not: { type: 'payment.failed' } }] } };",
  "const slack: CreateConnectorRequest = { type: 'slack', eventTypes: ['*'], config: { webhookUrl: 'https://hooks.slack.com/services/T0/B0/x' } };",
  "const change: UpdateConnectorRequest = { config: { chatId: '-1001234567890' } };",
  "const replay: CreateReplayRequest = { filter: { status: ['FAILED'], eventTypes: ['payment.settled'] } };",
];

/** Statements that must not compile with the generated types, each for one reason. */
export const WRONG = [
  "const headers: CreateWebhookRequest = { url: 'https://a.example/', eventTypes: ['*'], headers: ['x'] };",
  "const authentication: CreateWebhookRequest = { url: 'https://a.example/', eventTypes: ['*'], authentication: 'x' };",
  "const operator: UpdateWebhookRequest = { filter: { 'data.amountUsd': { above: '1.00' } } };",
  "const field: UpdateWebhookRequest = { filter: { 'data.amount': '1.00' } };",
  "const config: CreateConnectorRequest = { type: 'slack', eventTypes: ['*'], config: { botToken: '1:a', chatId: '1' } };",
  "const change: UpdateConnectorRequest = { config: { channel: '#sales' } };",
  "const replay: CreateReplayRequest = { filter: { state: ['FAILED'] } };",
  "const inputSchema: CreateEndpointRequest = { path: '/a', upstreamUrl: 'https://a.example/', priceUsd: '1', inputSchema: { cookies: {} } };",
];

const NAMES = [
  ...['CreateWebhookRequest', 'UpdateWebhookRequest', 'CreateConnectorRequest', 'UpdateConnectorRequest'],
  ...['CreateReplayRequest', 'CreateEndpointRequest'],
];
const typesFrom = (path: string) => `import type { ${NAMES.join(', ')} } from '${path}';`;

/** @param status the status of the result `done`, which depends on the HTTP client. */
const heyApi = (folder: string, status: string): Generated => ({
  types: typesFrom(`./${folder}/types.gen`),
  adapter: `
import { client } from './${folder}/client.gen';
import * as api from './${folder}/sdk.gen';
import type { Adapter } from './contract';

export function open(token: string): Adapter {
  client.setConfig({ auth: token });
  return {
    createProject: async (body) => (await api.createProject({ body, throwOnError: true })).data.id,
    async createWebhook(projectId, body) {
      const { data, error } = await api.createWebhook({ path: { projectId }, body });
      return data ?? error!;
    },
    async listNames(projectId, query) {
      const { data } = await api.listWebhooks({ path: { projectId }, query, throwOnError: true });
      return data.data.map(({ name }) => name);
    },
    async rename(projectId, webhookId, name) {
      return (await api.updateWebhook({ path: { projectId, webhookId }, body: { name }, throwOnError: true })).data.name;
    },
    async remove(projectId, webhookId) {
      const done = await api.deleteWebhook({ path: { projectId, webhookId }, throwOnError: true });
      return ${status};
    },
  };
}
`,
});

const kubb: Generated = {
  types: NAMES.map((name) => `import type { ${name} } from './kubb/types/${name}.ts';`).join(' '),
  adapter: `
import { setConfig } from '@kubb/plugin-client/clients/fetch';
import { createProject } from './kubb/clients/createProject.ts';
import { createWebhook } from './kubb/clients/createWebhook.ts';
import { deleteWebhook } from './kubb/clients/deleteWebhook.ts';
import { listWebhooks } from './kubb/clients/listWebhooks.ts';
import { updateWebhook } from './kubb/clients/updateWebhook.ts';
import type { Adapter, Problem } from './contract';

export function open(token: string): Adapter {
  setConfig({ headers: { authorization: \`Bearer \${token}\`, 'content-type': 'application/json' } });
  return {
    createProject: async (body) => (await createProject(body)).data.id,
    async createWebhook(projectId, body) {
      const { status, data } = await createWebhook(projectId, body);
      return status === 201 ? data : (data as unknown as Problem);
    },
    listNames: async (projectId, query) => (await listWebhooks(projectId, query)).data.data.map(({ name }) => name),
    rename: async (projectId, id, name) => (await updateWebhook(projectId, id, { name })).data.name,
    remove: async (projectId, id) => (await deleteWebhook(projectId, id)).status,
  };
}
`,
};

const swaggerTypescriptApi: Generated = {
  types: typesFrom('./swagger-typescript-api/api'),
  adapter: `
import { Api, type HttpResponse, type Problem } from './swagger-typescript-api/api';
import type { Adapter } from './contract';

export function open(token: string): Adapter {
  const { api } = new Api({ securityWorker: () => ({ headers: { authorization: \`Bearer \${token}\` } }) });
  return {
    createProject: async (body) => (await api.createProject(body)).data.id,
    createWebhook: (projectId, body) =>
      api.createWebhook(projectId, body).then(
        ({ data }) => data,
        (response: HttpResponse<never, Problem>) => response.error,
      ),
    listNames: async (projectId, query) => (await api.listWebhooks(projectId, query)).data.data.map(({ name }) => name),
    rename: async (projectId, id, name) => (await api.updateWebhook(projectId, id, { name })).data.name,
    remove: async (projectId, id) => (await api.deleteWebhook(projectId, id)).status,
  };
}
`,
};

const openapiFetch: Generated = {
  types: `import type { components } from './openapi-typescript/api'; ${NAMES.map((name) => `type ${name} = components['schemas']['${name}'];`).join(' ')}`,
  adapter: `
import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript/api';
import { servers } from './openapi.json';
import type { Adapter } from './contract';

export function open(token: string): Adapter {
  const client = createClient<paths>({ baseUrl: servers[0]!.url, headers: { authorization: \`Bearer \${token}\` } });
  return {
    createProject: async (body) => (await client.POST('/api/projects', { body })).data!.id,
    async createWebhook(projectId, body) {
      const { data, error } = await client.POST('/api/projects/{projectId}/webhooks', { params: { path: { projectId } }, body });
      return data ?? error!;
    },
    async listNames(projectId, query) {
      const { data } = await client.GET('/api/projects/{projectId}/webhooks', { params: { path: { projectId }, query } });
      return data!.data.map(({ name }) => name);
    },
    async rename(projectId, webhookId, name) {
      const params = { path: { projectId, webhookId } };
      return (await client.PATCH('/api/projects/{projectId}/webhooks/{webhookId}', { params, body: { name } })).data!.name;
    },
    async remove(projectId, webhookId) {
      const params = { path: { projectId, webhookId } };
      return (await client.DELETE('/api/projects/{projectId}/webhooks/{webhookId}', { params })).response.status;
    },
  };
}
`,
};

const orval: Generated = {
  types: typesFrom('./orval/api'),
  adapter: `
import * as api from './orval/api';
import type { Adapter } from './contract';

export function open(token: string): Adapter {
  const options = { headers: { authorization: \`Bearer \${token}\` } };
  return {
    async createProject(body) {
      const response = await api.createProject(body, options);
      if (response.status !== 201) throw new Error(response.data.code);
      return response.data.id;
    },
    createWebhook: async (projectId, body) => (await api.createWebhook(projectId, body, options)).data,
    async listNames(projectId, query) {
      const response = await api.listWebhooks(projectId, query, options);
      if (response.status !== 200) throw new Error(response.data.code);
      return response.data.data.map(({ name }) => name);
    },
    async rename(projectId, id, name) {
      const response = await api.updateWebhook(projectId, id, { name }, options);
      if (response.status !== 200) throw new Error(response.data.code);
      return response.data.name;
    },
    remove: async (projectId, id) => (await api.deleteWebhook(projectId, id, options)).status,
  };
}
`,
};

/** By the folder of what they generate. */
export const GENERATED: Readonly<Record<string, Generated>> = {
  'hey-api': heyApi('hey-api', 'done.response.status'),
  'hey-api-axios': heyApi('hey-api-axios', 'done.status'),
  kubb,
  'swagger-typescript-api': swaggerTypescriptApi,
  'openapi-typescript': openapiFetch,
  orval,
};
