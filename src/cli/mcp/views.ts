import { z } from 'zod';
import type {
  Attempt,
  AuditEntry,
  Connector,
  Customer,
  Delivery,
  Endpoint,
  Event,
  Payment,
  Project,
  Replay,
  Webhook,
} from '../../../packages/sdk/src/index.ts';
import { defineView } from './view.ts';

const text = z.string();
const textOrNull = z.string().nullable();
const count = z.number();
const countOrNull = z.number().nullable();
const yesOrNo = z.boolean();
const texts = z.array(z.string());

export const projectView = defineView<Project>({
  plain: {
    id: text,
    mode: text,
    networks: texts,
    milestonesUsd: texts,
    timeZone: text,
    walletAddress: text,
    gatewayUrl: textOrNull,
    createdAt: text,
  },
  outside: ['name', 'description'],
});

export const endpointView = defineView<Endpoint>({
  plain: {
    id: text,
    projectId: text,
    path: text,
    priceUsd: text,
    methods: texts,
    isActive: yesOrNo,
    protocol: text,
    settlement: text,
    timeoutSeconds: countOrNull,
    warnings: texts,
    createdAt: text,
    updatedAt: text,
  },
  urls: ['upstreamUrl'],
  outside: ['description', 'tags'],
});

export const paymentView = defineView<Payment>({
  plain: {
    id: text,
    projectId: text,
    endpointId: text,
    endpointPath: text,
    method: text,
    customerId: textOrNull,
    status: text,
    failureStage: textOrNull,
    unservedReason: textOrNull,
    amountUsd: text,
    asset: text,
    network: text,
    payer: text,
    payTo: text,
    settlement: text,
    upstreamStatusCode: countOrNull,
    upstreamDurationMs: countOrNull,
    transactionHash: textOrNull,
    createdAt: text,
    verifiedAt: textOrNull,
    servedAt: textOrNull,
    settledAt: textOrNull,
    validBefore: text,
  },
  outside: ['failureReason', 'failureMessage', 'identifier'],
});

export const customerView = defineView<Customer>({
  plain: {
    id: text,
    projectId: text,
    walletAddress: text,
    paymentCount: count,
    totalUsd: text,
    firstPaymentAt: textOrNull,
    lastPaymentAt: textOrNull,
    createdAt: text,
  },
});

export const eventView = defineView<Event>({
  plain: { id: text, projectId: text, type: text, version: count, test: yesOrNo, timestamp: text, filteredOut: texts },
  outside: ['data'],
});

export const deliveryView = defineView<Delivery>({
  plain: {
    id: text,
    projectId: text,
    webhookId: textOrNull,
    connectorId: textOrNull,
    eventId: text,
    eventType: text,
    status: text,
    statusCode: countOrNull,
    responseTimeMs: countOrNull,
    errorClass: textOrNull,
    attemptCount: count,
    nextAttemptAt: textOrNull,
    createdAt: text,
    updatedAt: text,
    completedAt: textOrNull,
  },
  outside: ['reason'],
});

export const attemptView = defineView<Attempt>({
  plain: {
    id: text,
    number: count,
    trigger: text,
    startedAt: text,
    durationMs: count,
    dnsMs: countOrNull,
    connectMs: countOrNull,
    tlsMs: countOrNull,
    firstByteMs: countOrNull,
    requestMethod: textOrNull,
    statusCode: countOrNull,
    errorClass: textOrNull,
    isContentOmitted: yesOrNo,
  },
  urls: ['requestUrl'],
  outside: ['errorMessage', 'responseHeaders', 'responseBody'],
});

export const replayView = defineView<Replay>({
  plain: {
    id: text,
    projectId: text,
    status: text,
    total: count,
    done: count,
    skipped: count,
    maxPerSecond: count,
    startedBy: text,
    createdAt: text,
    updatedAt: text,
    finishedAt: textOrNull,
  },
});

const health = {
  eventTypes: texts,
  isActive: yesOrNo,
  disabledReason: textOrNull,
  disabledAt: textOrNull,
  isPaused: yesOrNo,
  pausedAt: textOrNull,
  failingSince: textOrNull,
  circuitOpenUntil: textOrNull,
  maxPerSecond: countOrNull,
  createdAt: text,
  updatedAt: text,
};

/** Without its headers and authentication. */
export const webhookView = defineView<Webhook>({
  plain: {
    id: text,
    projectId: text,
    payloadVersion: count,
    ordering: text,
    timeoutSeconds: count,
    retrySchedule: text,
    ...health,
  },
  urls: ['url'],
  outside: ['name', 'description', 'pausedReason'],
});

/** Without its config. */
export const connectorView = defineView<Connector>({
  plain: { id: text, projectId: text, type: text, nextProbeAt: textOrNull, credentialExpiresAt: textOrNull, ...health },
  outside: ['name', 'pausedReason'],
});

export const auditEntryView = defineView<AuditEntry>({
  plain: {
    id: text,
    projectId: text,
    action: text,
    targetId: text,
    actorKind: text,
    actorId: text,
    client: textOrNull,
    isReported: yesOrNo,
    createdAt: text,
  },
  outside: ['actorName', 'changes', 'previous'],
});
