/** Generates packages/sdk/src/generated.ts from the OpenAPI document: a type per component, and the operations. */

type Schema = {
  deprecated?: boolean;
  'x-sunset'?: string;
  type?: string | string[];
  description?: string;
  enum?: (string | number)[];
  const?: unknown;
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
};
type Content = {
  headers?: Record<string, unknown>;
  content?: Record<string, { schema: Schema; 'x-line-schema'?: Schema }>;
};
type Parameter = { name: string; in: string; description?: string; required?: boolean; schema: Schema };
type Operation = {
  deprecated?: boolean;
  'x-sunset'?: string;
  description?: string;
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
};
export type OpenApi = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: { requestBody: Content } }>;
  components: { schemas: Record<string, Schema> };
};

/**
 * The client property for each tag, and the nouns to drop from operation IDs to get its method names: `listWebhooks`
 * becomes `webhooks.list`.
 */
const RESOURCES: Readonly<Record<string, { property: string; nouns: RegExp }>> = {
  me: { property: 'me', nouns: /Me$/ },
  projects: { property: 'projects', nouns: /Projects?/ },
  'upstream-secret': { property: 'upstreamSecret', nouns: /UpstreamSecret/ },
  'gateway-host': { property: 'gatewayHost', nouns: /GatewayHost(Status)?/ },
  'buyer-rules': { property: 'buyerRules', nouns: /BuyerRules|Buyer/ },
  endpoints: { property: 'endpoints', nouns: /Endpoints?/ },
  keys: { property: 'apiKeys', nouns: /ApiKeys?/ },
  connectors: { property: 'connectors', nouns: /Connectors?/ },
  'connector-types': { property: 'connectorTypes', nouns: /ConnectorTypes/ },
  webhooks: { property: 'webhooks', nouns: /Webhooks?/ },
  deliveries: { property: 'deliveries', nouns: /Deliver(y|ies)/ },
  replays: { property: 'replays', nouns: /Replays?/ },
  events: { property: 'events', nouns: /Events?/ },
  payments: { property: 'payments', nouns: /Payments?/ },
  customers: { property: 'customers', nouns: /Customers?/ },
  revenue: { property: 'revenue', nouns: /Revenue/ },
  'delivery-stats': { property: 'deliveryStats', nouns: /DeliveryStats/ },
  members: { property: 'members', nouns: /Members?/ },
  invitations: { property: 'invitations', nouns: /Invitations?|Member/ },
  transfers: { property: 'transfers', nouns: /Transfers?/ },
  notices: { property: 'notices', nouns: /Notices?/ },
  contacts: { property: 'contacts', nouns: /Contacts/ },
  search: { property: 'search', nouns: /^search/ },
  operator: { property: 'operator', nouns: /(?!)/ },
  'audit-log': { property: 'auditLog', nouns: /ProjectAuditLog|AuditEntry/ },
};

/** Method names that can't be derived from the operation ID. */
const METHOD_NAMES: Readonly<Record<string, string>> = {
  listAuditLog: 'listAllProjects',
  listAccountLog: 'listAccount',
  listMyInvitations: 'listMine',
  listMyTransfers: 'listMine',
  searchProject: 'inProject',
  search: 'inAllProjects',
};

/** List parameters that aren't filters. */
const NOT_LIVE = "'limit' | 'after' | 'expand'";

/** The resources with a subscription: the component of their items, and the filters that the subscription accepts. */
const LIVE: Readonly<Record<string, { component: string; filters?: string }>> = {
  events: { component: 'Event', filters: "Pick<ListEventsQuery, 'eventType'>" },
  deliveries: { component: 'Delivery', filters: `Omit<ListDeliveriesQuery, ${NOT_LIVE}>` },
  payments: { component: 'Payment', filters: `Omit<ListPaymentsQuery, ${NOT_LIVE}>` },
  replays: { component: 'Replay' },
  notices: { component: 'Notice' },
};

type Method = { name: string; httpMethod: string; path: string; operation: Operation };

/**
 * Returns the source code without formatting. Throws if a tag has no resource, or if two methods have the same name.
 */
export function sdkSource({ paths, webhooks, components: { schemas } }: OpenApi): string {
  const types = Object.entries(schemas).map(
    ([name, schema]) =>
      `${comment(schema.description)}export type ${name} = ${name === 'Event' ? eventType(schema) : typeOf(schema)};\n`,
  );
  const events = Object.values(webhooks).map(({ post }) => typeOf(jsonOf(post.requestBody)!));
  const resources = Object.entries(methodsByResource(paths));
  const queries = resources.flatMap(([resource, methods]) =>
    methods.flatMap((method) => queryType(resource, method) ?? []),
  );
  return `// Generated from docs/openapi.json by \`npm run generate:docs\`. Edit scripts/sdk-source.ts, not this file.

import type { Exported } from './exported.ts';
import type { Feed, FollowOptions } from './feed.ts';
import type { Listing } from './listing.ts';
import type { CreateOptions, RequestOptions } from './options.ts';

${types.join('\n')}
/** An event's payload, by event type. */
export type EventDataByType = {
${Object.entries(webhooks)
  .map(([type, { post }]) => `${JSON.stringify(type)}: ${dataOf(post.requestBody, schemas)};\n`)
  .join('')}};

/** The body of a webhook request. \`type\` says which event it is. */
export type WebhookEvent = ${events.join(' | ')};

${queries.join('\n')}
/** The methods for each resource. */
export type Resources = {
${resources.map(([name, methods]) => `  ${name}: {\n${methods.map(signature).join('')}${followSignature(name)}  };`).join('\n')}
};

/** The operation behind each method. \`{projectId}\` comes from the options, except where it is an argument. */
export const OPERATIONS = {
${resources.map(([name, methods]) => `  ${name}: {\n${methods.map(row).join('')}  },`).join('\n')}
} as const;

/** Fields of the items that clients can follow live. Fields in \`enums\` have different values in GraphQL. */
export const LIVE_FIELDS = {
${Object.entries(LIVE)
  .map(([name, { component }]) => `  ${name}: ${JSON.stringify(liveFields(schemas, schemas[component]!))},\n`)
  .join('')}};
`;
}

/** The API's event type, in which `type` determines what `data` contains. */
function eventType({ properties, ...schema }: Schema): string {
  const { type, data, ...rest } = properties!;
  const fields = objectType({ ...schema, properties: rest });
  return `{ [Type in EventType]: ${fields.slice(0, -1)}${comment(type!.description)}type: Type;
${comment(data!.description)}data: EventDataByType[Type];\n} }[EventType]`;
}

function dataOf(body: Content, schemas: Record<string, Schema>): string {
  return typeOf(schemas[typeOf(jsonOf(body)!)]!.properties!.data!);
}

function methodsByResource(paths: OpenApi['paths']): Record<string, Method[]> {
  const resources: Record<string, Method[]> = {};
  for (const [path, operations] of Object.entries(paths)) {
    for (const [httpMethod, operation] of Object.entries(operations)) {
      const resource = RESOURCES[operation.tags[0]!];
      if (!resource) throw new Error(`The tag ${operation.tags[0]} has no resource in scripts/sdk-source.ts`);
      const name = METHOD_NAMES[operation.operationId] ?? methodName(operation.operationId, resource.nouns);
      const methods = resources[resource.property] ?? [];
      if (methods.some((method) => method.name === name)) {
        throw new Error(`${operation.operationId} needs its own name in METHOD_NAMES: ${name} is taken`);
      }
      methods.push({ name, httpMethod: httpMethod.toUpperCase(), path, operation });
      resources[resource.property] = methods;
    }
  }
  return resources;
}

function methodName(operationId: string, nouns: RegExp): string {
  return operationId.replace(nouns, '');
}

/** The path parameters that become arguments. The project is one of them only if it is the resource itself. */
function argumentsOf({ path, operation }: Method): string[] {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name!);
  return operation.tags[0] === 'projects' ? names : names.filter((name) => name !== 'projectId');
}

/** The caller of an export chooses the format later. */
function queryParameters(operation: Operation): Parameter[] {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  return rowOf(operation) ? parameters.filter(({ name }) => name !== 'format') : parameters;
}

const isQueryRequired = (operation: Operation) => queryParameters(operation).some(({ required }) => required);
const queryName = ({ operationId }: Operation) => `${operationId[0]!.toUpperCase()}${operationId.slice(1)}Query`;

function queryType(resource: string, { name: method, operation }: Method): string | undefined {
  const parameters = queryParameters(operation);
  if (parameters.length === 0) return undefined;
  const fields = parameters.map(
    ({ name, description, required, schema }) =>
      `${comment(description)}${name}${required ? '' : '?'}: ${typeOf(schema)};\n`,
  );
  return `/** Query parameters for \`${resource}.${method}\`. */\nexport type ${queryName(operation)} = {\n${fields.join('')}};\n`;
}

const successOf = ({ responses }: Operation) =>
  Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];

/** The schema of an export's rows. Undefined for all other operations. */
const rowOf = (operation: Operation) => successOf(operation)?.content?.['application/jsonl']?.['x-line-schema'];

const isList = (method: Method) => method.operation.operationId.startsWith('list');

function signature(method: Method): string {
  const { name, httpMethod, operation } = method;
  const body = jsonOf(operation.requestBody);
  const parameters = [
    ...argumentsOf(method).map((argument) => `${argument}: string`),
    ...(body ? [`body${operation.requestBody?.required ? '' : '?'}: ${typeOf(body)}`] : []),
    ...(queryParameters(operation).length > 0
      ? [`query${isQueryRequired(operation) ? '' : '?'}: ${queryName(operation)}`]
      : []),
    `options?: ${httpMethod === 'POST' ? 'CreateOptions' : 'RequestOptions'}`,
  ];
  return `${comment(`${operation.summary}.`, operation, operation.description)}${name}(${parameters.join(', ')}): ${resultType(method)};\n`;
}

function resultType(method: Method): string {
  const row = rowOf(method.operation);
  if (row) return `Exported<${typeOf(row)}>`;
  const schema = jsonOf(successOf(method.operation));
  if (!schema) return 'Promise<void>';
  return isList(method) ? `Listing<${typeOf(schema)}>` : `Promise<${typeOf(schema)}>`;
}

function followSignature(resource: string): string {
  const live = LIVE[resource];
  if (!live) return '';
  const query = live.filters ? `query?: ${live.filters}, ` : '';
  return `/** Follow ${resource} live, and reconnect if the connection is lost. */
follow(${query}options?: FollowOptions): Feed<${live.component}>;\n`;
}

/** The fields that every item has. Other fields appear only in responses that expand them. */
function liveFields(schemas: Record<string, Schema>, { properties, required = [] }: Schema) {
  const fields = Object.entries(properties!).filter(([name]) => required.includes(name));
  const enums = fields.flatMap(([name, { $ref }]) => {
    const values = schemas[$ref?.replace('#/components/schemas/', '') ?? '']?.enum ?? [];
    return values.some((value) => /[^A-Z_]/.test(String(value))) ? [[name, values] as const] : [];
  });
  return { selection: fields.map(([name]) => name).join(' '), enums: Object.fromEntries(enums) };
}

function row(method: Method): string {
  const { name, httpMethod, path, operation } = method;
  const fields = {
    method: httpMethod,
    path,
    arguments: argumentsOf(method),
    takes: jsonOf(operation.requestBody) ? 'body' : queryParameters(operation).length > 0 ? 'query' : 'nothing',
    returns: rowOf(operation) ? 'export' : isList(method) ? 'list' : 'one',
  };
  return `${name}: ${JSON.stringify(fields)},\n`;
}

const jsonOf = (body: Content | undefined) => body?.content?.['application/json']?.schema;

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map(typeOf).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
  if (schema.type === 'array') return `Array<${typeOf(schema.items!)}>`;
  if (schema.type === 'object') return objectType(schema);
  return SIMPLE_TYPES[schema.type ?? ''] ?? 'unknown';
}

const SIMPLE_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

function objectType({ properties, required = [] }: Schema): string {
  if (!properties || Object.keys(properties).length === 0) return 'Record<string, unknown>';
  const fields = Object.entries(properties).map(
    ([name, schema]) =>
      `${comment(schema.description, schema)}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};\n`,
  );
  return `{\n${fields.join('')}}`;
}

type Deprecated = { deprecated?: boolean; 'x-sunset'?: string };

function comment(about: string | undefined, { deprecated, 'x-sunset': sunset }: Deprecated = {}, advice = ''): string {
  const until = sunset ? `It will be removed after ${sunset}.` : undefined;
  const text = [about, ...(deprecated ? ['@deprecated', until, advice] : [])].filter(Boolean).join(' ');
  return text ? `/** ${text.replaceAll('*/', '* /').replaceAll(/\s*\n\s*/g, ' ')} */\n` : '';
}
