import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLUnionType,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isUnionType,
  parse,
} from 'graphql';
import { schema } from '../../src/graphql/schema.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { toVariable } from '../../src/rest/values.ts';
import {
  type DocumentRequirements,
  isForOperators as isDocumentForOperators,
  requirementsOf,
} from '../../src/schema/document-requirements.ts';
import type { OwnedType } from './isolation-tenants.ts';

/** A place in a request where an identifier goes: a parameter, an argument, or an input field. */
type Slot = {
  name: string;
  type: OwnedType;
  isOptional?: boolean;
  /** Whether it also accepts identifiers of other nodes. */
  takesAnyNode?: boolean;
};
export type Values = Readonly<Record<string, string | undefined>>;
export type Request =
  | { kind: 'rest'; method: string; path: string; body?: unknown }
  | { kind: 'graphql'; query: string; variables: object; isStream: boolean };

/** A REST or GraphQL operation, and how to build its request with given identifiers. */
export type Operation = {
  name: string;
  slots: Slot[];
  isWrite: boolean;
  request(values: Values): Request;
  /** What the service's table of permissions requires for it. For `node` and `nodes`, this depends on the values. */
  requires(values?: Values): DocumentRequirements;
};

/** The type that each path parameter identifies. */
const PARAMETERS: Record<string, OwnedType> = {
  projectId: 'Project',
  endpointId: 'Endpoint',
  keyId: 'ApiKey',
  connectorId: 'Connector',
  webhookId: 'Webhook',
  deliveryId: 'Delivery',
  replayId: 'Replay',
  eventId: 'Event',
  paymentId: 'Payment',
  customerId: 'Customer',
  auditEntryId: 'AuditEntry',
  noticeId: 'Notice',
  memberId: 'ProjectMember',
  invitationId: 'Invitation',
  transferId: 'ProjectTransfer',
  userId: 'User',
};

/** The type that each ID argument identifies. `node` and `nodes` are queried for every type. */
const ARGUMENTS: Record<string, OwnedType | 'any'> = {
  'Query.node.id': 'any',
  'Query.nodes.ids': 'any',
  'Query.project.id': 'Project',
  'Query.search.projectId': 'Project',
  'Query.operatorUser.id': 'User',
  'Project.apiKey.id': 'ApiKey',
  'Project.connector.id': 'Connector',
  'Project.delivery.id': 'Delivery',
  'Project.endpoint.id': 'Endpoint',
  'Project.event.id': 'Event',
  'Project.webhook.id': 'Webhook',
  'Project.payment.id': 'Payment',
  'Project.replay.id': 'Replay',
  'Subscription.replayUpdated.projectId': 'Project',
  'Project.customer.id': 'Customer',
  'Project.auditEntry.id': 'AuditEntry',
  'Project.notice.id': 'Notice',
  'Project.member.id': 'ProjectMember',
  'Project.invitation.id': 'Invitation',
  'Subscription.noticeUpdated.projectId': 'Project',
  'Subscription.paymentUpdated.projectId': 'Project',
  'Subscription.deliveryUpdated.projectId': 'Project',
  'Subscription.eventRecorded.projectId': 'Project',
};

/** What `id` or `ids` identifies in a mutation's input. `projectId` is always a project, and `eventId` an event. */
const INPUT_IDS: Record<string, OwnedType> = {
  deleteConnector: 'Connector',
  testConnector: 'Connector',
  updateConnector: 'Connector',
  deleteEndpoint: 'Endpoint',
  updateEndpoint: 'Endpoint',
  deleteProject: 'Project',
  updateProject: 'Project',
  markNoticesRead: 'Notice',
  deleteWebhook: 'Webhook',
  rotateWebhookSecret: 'Webhook',
  sendWebhookTestEvent: 'Webhook',
  updateWebhook: 'Webhook',
  resendDelivery: 'Delivery',
  cancelReplay: 'Replay',
  revokeApiKey: 'ApiKey',
  updateMember: 'ProjectMember',
  removeMember: 'ProjectMember',
  revokeInvitation: 'Invitation',
  acceptInvitation: 'Invitation',
  declineInvitation: 'Invitation',
  acceptTransfer: 'ProjectTransfer',
  declineTransfer: 'ProjectTransfer',
  updateUser: 'User',
  blockUser: 'User',
  unblockUser: 'User',
  requeueDeliveries: 'User',
};

/** Bodies that would be accepted and change something, by operation. All other operations need no body. */
const WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const OPENAPI = JSON.stringify({
  openapi: '3.1.0',
  servers: [{ url: 'https://api.example.com' }],
  paths: { '/imported': { get: {} } },
});
const BODIES: Record<string, object> = {
  createProject: { name: 'Taken', walletAddress: WALLET },
  copyProject: { name: 'Taken', walletAddress: WALLET, mode: 'TEST' },
  // API keys can't change the wallet.
  updateProject: { name: 'Taken' },
  createEndpoint: { path: '/taken', upstreamUrl: 'https://api.example.com/taken', priceUsd: '1' },
  previewImport: { document: OPENAPI },
  importEndpoints: { document: OPENAPI, items: [{ path: '/imported', priceUsd: '1' }] },
  updateEndpoint: { path: '/moved', priceUsd: '2', isActive: false },
  createApiKey: { name: 'Taken' },
  createConnector: { type: 'n8n', config: { webhookUrl: 'https://n8n.example.com/webhook/taken' }, eventTypes: ['*'] },
  createReplay: { all: true },
  updateConnector: { config: { from: 'taken@example.com' }, isActive: false },
  startConnectorAuthorization: { type: 'xero', config: {}, eventTypes: ['*'] },
  finishConnectorAuthorization: { state: 'unknown', code: 'unknown' },
  createWebhook: { url: 'https://taken.example.com', eventTypes: ['*'] },
  recordTestEvent: { eventType: 'endpoint.created' },
  testEventFilter: { filter: { type: 'endpoint.created' } },
  updateWebhook: { url: 'https://taken.example.com', isActive: false },
  testConnector: { eventType: 'endpoint.created' },
  updateUser: { tier: 'PRO' },
  blockUser: { reason: 'Taken' },
  requeueDeliveries: { maxPerSecond: 10 },
  updateBuyerRules: { maxRequests: 1, deniedWallets: [WALLET] },
  denyBuyer: { walletAddress: WALLET },
  allowBuyer: { walletAddress: WALLET },
  updateContacts: { emails: ['taken@example.com'] },
  updateMember: { role: 'ADMIN' },
  inviteMember: { email: 'taken@example.com', role: 'ADMIN' },
  transferProject: { memberId: 'mem_00000000000000000000000000' },
  recordToolCall: { tool: 'list_payments' },
};

/** Arguments that filter visible resources. None of them identifies a resource. */
const CHOOSING = new Set([
  ...['first', 'last', 'after', 'before', 'filter', 'types', 'orderBy', 'walletAddress', 'from', 'to', 'interval'],
]);

/** Values for required text arguments. Every home's mark contains this text. */
const TEXTS: Readonly<Record<string, string>> = { 'search.query': 'mark' };

/** Query parameters that REST routes require, by operation. */
const QUERIES: Readonly<Record<string, string>> = { searchProject: '?q=mark', search: '?q=mark' };

/** Inputs with identifiers that are also filters. Tests in test/features cover other callers' identifiers in them. */
const CHOOSING_INPUTS = new Set([
  ...['PaymentFilter', 'AuditFilter', 'DeliveryFilter', 'EventFilter', 'NoticeFilter', 'CustomerFilter'],
  ...['EndpointFilter', 'WebhookFilter', 'ConnectorFilter', 'ReplayListFilter'],
]);

/** Operations that need an account at a vendor. test/features/connectors/authorizations checks that they succeed. */
export const WITH_VENDOR = new Set(['startConnectorAuthorization', 'finishConnectorAuthorization']);

/**
 * Operations that need two people. test/features/members checks that they succeed.
 */
export const FOR_TWO = new Set([
  ...['mutation acceptInvitation', 'POST /api/invitations/:invitationId/accept'],
  ...['mutation declineInvitation', 'POST /api/invitations/:invitationId/decline'],
  ...['mutation transferProject', 'POST /api/projects/:projectId/transfer'],
  ...['mutation acceptTransfer', 'POST /api/transfers/:transferId/accept'],
  ...['mutation declineTransfer', 'POST /api/transfers/:transferId/decline'],
]);

/** Reasons why an operation isn't covered, and where to add it. */
export const uncovered: string[] = [];

const NODE_TYPES = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type))
  .filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'));

function restOperations(): Operation[] {
  return ROUTES.map(({ method, path, operationId, kind, document }) => {
    const slots = [...path.matchAll(/:(\w+)/g)].map(([, name]) =>
      slotOf(`${method} ${path}`, name!, PARAMETERS[name!]),
    );
    if ((kind === 'create' || kind === 'update') && !BODIES[operationId]) {
      uncovered.push(`REST ${operationId} needs a request body: add a valid one to BODIES.`);
    }
    const body = method === 'GET' || method === 'DELETE' ? undefined : (BODIES[operationId] ?? {});
    return {
      name: `${method} ${path}`,
      slots,
      isWrite: method !== 'GET',
      requires: () => requirementsOf(schema, document),
      request: (values) => ({
        kind: 'rest',
        method,
        body,
        path:
          path.replaceAll(/:(\w+)/g, (_all, name: string) => encodeURIComponent(values[name]!)) +
          (QUERIES[operationId] ?? ''),
      }),
    };
  });
}

function slotOf(operation: string, name: string, type: OwnedType | undefined, isOptional = false): Slot {
  if (!type)
    uncovered.push(`${operation} takes the identifier ${name}: add its type to PARAMETERS, ARGUMENTS or INPUT_IDS.`);
  return { name, type: type ?? 'Project', isOptional };
}

/** The fields that find any node, and how to call them. */
const NODE_FIELDS: Record<string, string> = { node: 'node(id: $id)', nodes: 'nodes(ids: [$id])' };

function queryOperations(): Operation[] {
  const project = schema.getQueryType()!.getFields().project!;
  const ofProject = Object.values((getNamedType(project.type) as GraphQLObjectType).getFields())
    .filter((field) => field.args.length > 0)
    .map((field) => {
      const slots = [{ name: 'projectId', type: 'Project' } as Slot, ...argumentSlots('Project', field)];
      return graphql(`query project.${field.name}`, slots, 'query', (declared) => {
        return `project(id: $projectId) { id ${call(field, declared)} }`;
      });
    });
  const ofRoot = Object.values(schema.getQueryType()!.getFields()).flatMap((field) => {
    const slots = argumentSlots('Query', field);
    if (!NODE_FIELDS[field.name]) return [graphql(`query ${field.name}`, slots, 'query', () => call(field, slots))];
    // Attempts also have identifiers, although they aren't nodes.
    const nodes = NODE_TYPES.map((node) => [node.name, `... on ${node.name} ${selectionOf(node)}`]);
    return [...nodes, ['Attempt', '']].map(([type, fragment]) => {
      const slot: Slot = { name: 'id', type: type as OwnedType, takesAnyNode: true };
      return graphql(`query ${field.name} of ${type}`, [slot], 'query', () => {
        return `${NODE_FIELDS[field.name]} { __typename id ${fragment} }`;
      });
    });
  });
  for (const { name, getFields } of objectTypes()) {
    if (['Query', 'Mutation', 'Subscription', 'Project'].includes(name)) continue;
    for (const field of Object.values(getFields())) {
      if (argumentSlots(name, field).length > 0) {
        uncovered.push(
          `${name}.${field.name} takes an identifier, but only fields of Project and Query are queried with one.`,
        );
      }
    }
  }
  return [...ofRoot, ...ofProject];
}

const objectTypes = () =>
  Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type))
    .filter(({ name }) => !name.startsWith('__'))
    .map((type) => ({ name: type.name, getFields: () => type.getFields() }));

function argumentSlots(typeName: string, field: GraphQLField<unknown, unknown>): Slot[] {
  return field.args.flatMap((argument) => {
    const place = `${typeName}.${field.name}.${argument.name}`;
    const type = ARGUMENTS[place];
    if (`${field.name}.${argument.name}` in TEXTS) return [];
    if (!type && CHOOSING.has(argument.name) && !isRequiredArgument(argument) && !namesThings(argument.type)) return [];
    return [slotOf(`${typeName}.${field.name}`, argument.name, type === 'any' ? 'Project' : type)];
  });
}

/** Whether an argument is an identifier or an input that contains one. */
function namesThings(inputType: GraphQLInputType): boolean {
  const type = getNamedType(inputType);
  if (!isInputObjectType(type)) return type.name === 'ID';
  return !CHOOSING_INPUTS.has(type.name) && Object.values(type.getFields()).some((field) => namesThings(field.type));
}

function subscriptionOperations(): Operation[] {
  return Object.values(schema.getSubscriptionType()!.getFields()).map((field) => {
    const slots = argumentSlots('Subscription', field);
    if (slots.length === 0) uncovered.push(`The subscription ${field.name} takes no project identifier.`);
    return graphql(`subscription ${field.name}`, slots, 'subscription', () => call(field, slots));
  });
}

function mutationOperations(): Operation[] {
  return Object.values(schema.getMutationType()!.getFields()).map((field) => {
    const input = field.args.find(({ name }) => name === 'input')?.type;
    const type = input && getNamedType(input);
    if (!type || !isInputObjectType(type) || field.args.length !== 1) {
      uncovered.push(`The mutation ${field.name} must have exactly one argument: input.`);
      return graphql(`mutation ${field.name}`, [], 'mutation', () => call(field, []));
    }
    const given = BODIES[field.name] ?? {};
    const slots = Object.values(type.getFields()).flatMap((item) => {
      const isOptional = !isRequiredInputField(item);
      if (String(getNamedType(item.type)) === 'ID') {
        const ids = {
          projectId: 'Project',
          eventId: 'Event',
          connectorId: 'Connector',
          memberId: 'ProjectMember',
        } as const;
        const idType = { id: INPUT_IDS[field.name], ids: INPUT_IDS[field.name], ...ids }[item.name];
        return [slotOf(`The mutation ${field.name}`, item.name, idType, isOptional)];
      }
      if (!isOptional && !(item.name in given)) {
        uncovered.push(`The mutation ${field.name} needs ${item.name}: add a valid one to BODIES.`);
      }
      return [];
    });
    const query = `mutation ($input: ${input}) { ${field.name}(input: $input) ${selectionOf(field.type)} }`;
    return {
      name: `mutation ${field.name}`,
      slots,
      isWrite: true,
      requires: () => requirementsOf(schema, parse(query)),
      request: (values) => {
        // BODIES uses REST's spelling. The service must reject values that don't fit.
        const body = Object.fromEntries(
          Object.entries(given).map(([name, value]) => [
            name,
            toVariable(type.getFields()[name]?.type as GraphQLInputType, value, []),
          ]),
        );
        return { kind: 'graphql', query, variables: { input: { ...body, ...values } }, isStream: false };
      },
    };
  });
}

function graphql(
  name: string,
  slots: Slot[],
  kind: 'query' | 'subscription' | 'mutation',
  body: (slots: Slot[]) => string,
): Operation {
  const variables = slots.map((slot) => `$${slot.name}: ID!`).join(', ');
  const query = `${kind} ${variables && `(${variables})`} { ${body(slots)} }`;
  const request = (values: Values): Request => ({
    kind: 'graphql',
    query,
    variables: values,
    isStream: kind === 'subscription',
  });
  const requires = (values?: Values) => requirementsOf(schema, parse(query), values);
  return { name, slots, isWrite: kind === 'mutation', request, requires };
}

/** Selects a field with everything below it. Identifiers come from variables with the same names. */
function call(field: GraphQLField<unknown, unknown>, slots: readonly Slot[]): string {
  const args = field.args.filter(({ name }) => slots.some((slot) => slot.name === name));
  // All fields are selected for each item, so more of them would exceed the cost limit.
  const size = field.name === 'projects' ? 3 : 5;
  const pages = field.args.some(({ name }) => name === 'first') ? [`first: ${size}`] : [];
  const texts = field.args.flatMap(({ name }) => {
    const text = TEXTS[`${field.name}.${name}`];
    return text === undefined ? [] : [`${name}: "${text}"`];
  });
  const list = [...args.map(({ name }) => `${name}: $${name}`), ...texts, ...pages].join(', ');
  return `${field.name}${list && `(${list})`} ${selectionOf(field.type)}`;
}

/** The fields that at least one document selects, as `Type.field`. */
export const selected = new Set<string>();

/** Together with the list fields between them, this many nested types reach the depth limit of a document. */
const MAX_TYPES_ABOVE = 7;

/** Selects every field below a type that needs no identifier. Types don't repeat along a path. */
function selectionOf(outputType: unknown, above: readonly string[] = []): string {
  const type: GraphQLNamedType = getNamedType(outputType as GraphQLObjectType);
  if (isLeafType(type)) return '';
  if (isUnionType(type)) return selectionOfUnion(type);
  const fields = Object.values((type as GraphQLObjectType).getFields()).flatMap((field) => {
    const inner = getNamedType(field.type);
    const isConnection = inner.name.endsWith('Connection');
    if (field.args.some(isRequiredArgument) || above.includes(inner.name)) return [];
    // If the fields of unions were selected everywhere, the document would exceed the length limit.
    if (isUnionType(inner) && above.length > 2) return [];
    // Below a project, lists are selected only by their nodes. Otherwise, the document would exceed the length limit.
    if (field.name === 'edges' && above.includes('Project')) return [];
    // A third list would exceed the depth limit.
    if (isConnection && above.filter((name) => name.endsWith('Connection')).length > 1) return [];
    if (above.length === MAX_TYPES_ABOVE && !isLeafType(inner)) return [];
    selected.add(`${type.name}.${field.name}`);
    const isLimited = field.args.some(({ name }) => name === 'last');
    const size = isConnection ? '(first: 2)' : isLimited ? '(last: 2)' : '';
    return [`${field.name}${size} ${selectionOf(field.type, [...above, type.name])}`];
  });
  return `{ ${fields.join(' ')} }`;
}

/**
 * Selects every field of each type in a union. A field needs an alias if its type differs between the union's types.
 */
function selectionOfUnion(union: GraphQLUnionType): string {
  const types = new Map<string, string>();
  const fragments = union.getTypes().map((type) => {
    const fields = Object.values(type.getFields()).map((field) => {
      const own = String(field.type);
      if (!types.has(field.name)) types.set(field.name, own);
      selected.add(`${type.name}.${field.name}`);
      const alias = types.get(field.name) === own ? '' : `${type.name}_${field.name}: `;
      return `${alias}${field.name} ${selectionOf(field.type, [type.name])}`;
    });
    return `... on ${type.name} { ${fields.join(' ')} }`;
  });
  return `{ __typename ${fragments.join(' ')} }`;
}

/** All operations: the rows in the REST table and the fields in the schema. */
export const OPERATIONS: readonly Operation[] = [
  ...restOperations(),
  ...queryOperations(),
  ...subscriptionOperations(),
  ...mutationOperations(),
];

const FOR_OPERATORS = new Set(
  OPERATIONS.filter(({ requires }) => isDocumentForOperators(requires())).map(({ name }) => name),
);
/** Whether only operators can run an operation. Nobody else can see users. */
export const isForOperators = ({ name }: Pick<Operation, 'name'>) => FOR_OPERATORS.has(name);

/** Fields in the schema, as `Type.field`, that need no identifier or are queried with one. */
export const schemaFields = objectTypes().flatMap(({ name, getFields }) =>
  Object.values(getFields())
    .filter((field) => !['Query', 'Mutation', 'Subscription'].includes(name) && !field.args.some(isRequiredArgument))
    .map((field) => `${name}.${field.name}`),
);
