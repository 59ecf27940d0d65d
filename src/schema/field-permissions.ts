import type { Permission, Requirement } from '../auth/permissions.ts';

/** Any of these permissions is enough. */
const any = (...anyOf: Permission[]): Requirement => ({ anyOf, isForPeople: false });
/** Any of these permissions is enough, but API keys are rejected, regardless of their scopes. */
const people = (...anyOf: Permission[]): Requirement => ({ anyOf, isForPeople: true });

const EVERYONE = any();
/** To everyone else, including an operator's API keys, nothing is there. Services check this. */
const OPERATORS: Requirement = { anyOf: [], isForPeople: false, isForOperators: true };
const READ = any('READ');
const PAYMENTS = any('READ', 'PAYMENTS');
const DELIVERIES = any('READ', 'DELIVERIES');
/** For objects that lead to both. */
const PAYMENTS_OR_DELIVERIES = any('READ', 'PAYMENTS', 'DELIVERIES');

/** The types that describe the caller rather than a project. */
const OWN_TYPES = new Set(['User', 'Viewer']);
/** The types that keys with `DELIVERIES` can read. */
const DELIVERY_TYPES = new Set(['Event', 'Delivery', 'Webhook', 'Connector', 'Replay']);
/** The types that keys with `PAYMENTS` can read. Everything else in a project requires `READ`. */
const PAYMENT_TYPES = new Set(['Payment', 'PaymentTotals', 'Customer', 'CustomerTotals', 'Revenue']);

/**
 * The permission needed to read an object of this type, wherever it appears. A project's own values also require `READ`.
 */
export function requirementOfType(name: string): Requirement {
  if (OWN_TYPES.has(name)) return EVERYONE;
  if (name === 'Project') return PAYMENTS_OR_DELIVERIES;
  if (PAYMENT_TYPES.has(name)) return PAYMENTS;
  return DELIVERY_TYPES.has(name) ? DELIVERIES : READ;
}

/** Fields whose requirement doesn't follow from the type that they lead to: type → field. */
export const NESTED_FIELDS: Readonly<Record<string, Readonly<Record<string, Requirement>>>> = {
  Project: {
    id: EVERYONE,
    deliveryStats: DELIVERIES,
    liveCursors: PAYMENTS_OR_DELIVERIES,
    owner: READ,
    unreadNoticeCount: READ,
  },
  LiveCursors: {
    events: DELIVERIES,
    deliveries: DELIVERIES,
    payments: PAYMENTS,
    replays: DELIVERIES,
    notices: READ,
  },
};

/** Objects that are part of a project. */
export const PROJECT_PARTS = new Set(['buyerRules', 'gatewayHostStatus', 'upstreamHeaders']);

/**
 * The permission needed to read a project's own values and parts. Mutations return them to every key that may change
 * the project.
 */
export const PROJECT_VALUES: Requirement = any('READ');

/**
 * The permissions for each field of the root types. The service doesn't start if a field is missing here. For
 * permissions that depend on the input, services call `requirePermission`.
 */
export const ROOT_FIELDS: Readonly<Record<'Query' | 'Mutation' | 'Subscription', Record<string, Requirement>>> = {
  Query: {
    connectorTypes: EVERYONE,
    isOnHold: EVERYONE,
    // The permission depends on the object's type.
    node: EVERYONE,
    // The permission depends on each object's type.
    nodes: EVERYONE,
    operatorHealth: OPERATORS,
    operatorUser: OPERATORS,
    operatorUsers: OPERATORS,
    paymentNetworks: EVERYONE,
    // The project's own values require `READ`.
    project: PAYMENTS_OR_DELIVERIES,
    projects: PAYMENTS_OR_DELIVERIES,
    search: READ,
    viewer: EVERYONE,
  },
  Mutation: {
    // An invitation is addressed to a person who isn't in the project yet.
    acceptInvitation: people(),
    // An offer is made to a person who may not be in the project.
    acceptTransfer: people(),
    allowBuyer: any('WRITE'),
    blockUser: OPERATORS,
    cancelReplay: any('DELIVERIES'),
    copyProject: people('MANAGE_WALLET'),
    createApiKey: people('MANAGE_KEYS'),
    createConnector: any('WRITE'),
    createEndpoint: any('WRITE'),
    createProject: people(),
    createReplay: any('DELIVERIES'),
    createWebhook: any('WRITE'),
    declineInvitation: people(),
    declineTransfer: people(),
    deleteConnector: any('WRITE'),
    deleteEndpoint: any('WRITE'),
    deleteProject: people('DELETE_PROJECT'),
    deleteWebhook: any('WRITE'),
    denyBuyer: any('WRITE'),
    finishConnectorAuthorization: people('WRITE'),
    importEndpoints: any('WRITE'),
    inviteMember: people('MANAGE_MEMBERS'),
    markNoticesRead: any('WRITE'),
    // A preview changes nothing, but it shows the project's endpoints.
    previewImport: READ,
    recordTestEvent: any('DELIVERIES'),
    // Every program may record its own calls, regardless of its permissions. The entries are marked as self-reported.
    recordToolCall: EVERYONE,
    // Everyone can leave. Removing somebody else requires `MANAGE_MEMBERS`.
    removeMember: people('READ'),
    requeueDeliveries: OPERATORS,
    resendDelivery: any('DELIVERIES'),
    revokeApiKey: people('MANAGE_KEYS'),
    revokeInvitation: people('MANAGE_MEMBERS'),
    rotateUpstreamSecret: people('CREDENTIALS'),
    rotateWebhookSecret: any('CREDENTIALS'),
    sendWebhookTestEvent: any('DELIVERIES'),
    startConnectorAuthorization: people('WRITE'),
    testConnector: any('DELIVERIES'),
    testEventFilter: DELIVERIES,
    transferProject: people('TRANSFER_PROJECT'),
    unblockUser: OPERATORS,
    updateBuyerRules: any('WRITE'),
    updateConnector: any('WRITE'),
    updateContacts: people('WRITE'),
    updateEndpoint: any('WRITE'),
    updateMember: people('MANAGE_MEMBERS'),
    updateProject: any('WRITE'),
    updateUser: OPERATORS,
    updateWebhook: any('WRITE'),
    verifyGatewayHost: people('MANAGE_HOSTS'),
    withdrawTransfer: people('TRANSFER_PROJECT'),
  },
  Subscription: {
    deliveryUpdated: DELIVERIES,
    eventRecorded: DELIVERIES,
    noticeUpdated: READ,
    paymentUpdated: PAYMENTS,
    replayUpdated: DELIVERIES,
  },
};
