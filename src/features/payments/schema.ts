import { getAddress } from 'viem';
import { inVisibleProject } from '../../auth/access.ts';
import { PaymentStatus } from '../../generated/prisma/enums.ts';
import { formatUsd } from '../../money.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { LONG_TEXT, STATISTIC_COST } from '../../schema/cost.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { PaymentStageEnum } from '../../schema/scalars.ts';
import { Endpoint } from '../endpoints/schema.ts';
import { SettlementOrderEnum } from '../endpoints/settlement-schema.ts';
import { Project } from '../projects/schema.ts';
import { paymentFilterInput } from './filter.ts';
import { unservedReasonOf } from './paid-calls.ts';
import { atomicOf } from './payload.ts';
import type { PaymentService } from './service.ts';
import { shownIdentifier } from './shown-identifier.ts';

declare module '../../schema/context.ts' {
  interface Services {
    payments: PaymentService;
  }
}

const PaymentStatusEnum = builder.enumType('PaymentStatus', {
  description: 'Status of a payment.',
  values: {
    CLAIMED: {
      value: PaymentStatus.CLAIMED,
      description: 'The payment was received, and its signature is being verified.',
    },
    VERIFIED: {
      value: PaymentStatus.VERIFIED,
      description: 'The signature is valid, and the upstream is being called.',
    },
    SERVED: {
      value: PaymentStatus.SERVED,
      description:
        'The upstream has responded. Nothing has been charged yet. New payments go from VERIFIED to SETTLING.',
    },
    SETTLING: {
      value: PaymentStatus.SETTLING,
      description: 'The upstream has responded, and the settlement is being sent.',
    },
    SETTLED: { value: PaymentStatus.SETTLED, description: 'The payment was settled on-chain.' },
    FAILED: { value: PaymentStatus.FAILED, description: 'The payment failed, and nothing was charged.' },
    UNKNOWN: {
      value: PaymentStatus.UNKNOWN,
      description: 'The settlement was sent, but its outcome is not known yet. The gateway is checking the chain.',
    },
  },
});

export const Payment = builder.prismaNode('Payment', {
  description: 'A payment for one request, and its outcome.',
  id: { field: 'id', description: 'Identifier, `pay_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the payment belongs to.' }),
    endpointId: t.exposeID('endpointId', {
      description: 'The endpoint that was paid for, which may have been deleted since.',
    }),
    endpointPath: t.exposeString('endpointPath', {
      ...LONG_TEXT,
      description: 'The endpoint’s path at the time of the payment.',
    }),
    method: t.exposeString('method', { description: 'HTTP method of the request.' }),
    endpoint: t.prismaField({
      type: Endpoint,
      nullable: true,
      description: 'The endpoint that was paid for; null if it has been deleted.',
      resolve: (query, { endpointId }, _args, { services, viewer }) =>
        services.endpoints.findTogether(viewer, endpointId, query),
    }),
    customerId: t.exposeID('customerId', {
      nullable: true,
      description: 'The customer who paid. Set once the payment is verified.',
    }),
    status: t.expose('status', { type: PaymentStatusEnum, description: 'Status of the payment.' }),
    failureStage: t.expose('failureStage', {
      type: PaymentStageEnum,
      nullable: true,
      description: 'The step at which the payment failed.',
    }),
    failureReason: t.exposeString('failureReason', {
      nullable: true,
      description:
        'Stable code that says why the payment failed or why its outcome is unknown, for example, `insufficient_funds`.',
    }),
    failureMessage: t.exposeString('failureMessage', {
      nullable: true,
      description: 'The failure reason as a sentence. If there is an `unservedReason`, this describes that reason.',
    }),
    amountUsd: t.string({
      description: 'Amount in USD, as a decimal string.',
      resolve: ({ amountAtomic }) => formatUsd(atomicOf(amountAtomic)),
    }),
    amountAtomic: t.string({
      description: 'Amount in atomic units of the asset (millionths of a dollar for USDC).',
      resolve: ({ amountAtomic }) => amountAtomic.toFixed(0),
    }),
    asset: t.exposeString('asset', { description: 'Symbol of the asset, for example, `USDC`.' }),
    assetAddress: t.string({
      description: 'Contract address of the asset, EIP-55 checksummed.',
      resolve: ({ assetAddress }) => getAddress(assetAddress),
    }),
    network: t.exposeString('network', { description: 'CAIP-2 network, for example, `eip155:8453`.' }),
    payer: t.string({ description: 'The payer’s wallet.', resolve: ({ payer }) => getAddress(payer) }),
    payTo: t.string({ description: 'Wallet that receives the payment.', resolve: ({ payTo }) => getAddress(payTo) }),
    nonce: t.exposeString('nonce', {
      description: 'Nonce of the authorization (EIP-3009). Each nonce can be used for only one payment.',
    }),
    x402Version: t.exposeInt('x402Version', { description: 'x402 protocol version that the payer used.' }),
    identifier: t.string({
      nullable: true,
      description:
        'The buyer’s identifier for the payment (x402 extension `payment-identifier`). Masked for API keys and for the role `VIEWER`, because anyone who knows it can get the buyer’s response.',
      resolve: ({ projectId, paymentIdentifier }, _args, { viewer }) =>
        paymentIdentifier === null ? null : shownIdentifier(viewer, projectId, paymentIdentifier),
    }),
    settlement: t.expose('settlement', {
      type: SettlementOrderEnum,
      description: 'When the payment is settled, according to the endpoint’s setting at the time the payment arrived.',
    }),
    unservedReason: t.string({
      nullable: true,
      description:
        'Why the buyer paid but didn’t get a complete response: a stable code, for example, `upstream_timeout`. Set only for payments that were settled before the request. The buyer may still be able to retry once for free.',
      resolve: (payment) => unservedReasonOf(payment),
    }),
    upstreamCallCount: t.int({
      nullable: true,
      description:
        'How many times the upstream was called, at most twice. Null for payments that are settled after the response.',
      resolve: ({ settlement, upstreamCallCount }) => (settlement === 'BEFORE_REQUEST' ? upstreamCallCount : null),
    }),
    upstreamStatusCode: t.exposeInt('upstreamStatusCode', {
      nullable: true,
      description: 'HTTP status of the upstream’s response, or null if there was none.',
    }),
    upstreamDurationMs: t.exposeInt('upstreamDurationMs', {
      nullable: true,
      description: 'The upstream’s response time in milliseconds, or null if it did not respond.',
    }),
    transactionHash: t.exposeString('transactionHash', {
      nullable: true,
      description:
        'The settlement’s transaction hash. While the outcome is unknown, this is the hash that the facilitator reported.',
    }),
    explorerUrl: t.string({
      nullable: true,
      description:
        'Block explorer page for the transaction, if the network has a well-known explorer. Null in the sandbox.',
      resolve: (payment, _args, { services }) => services.payments.explorerUrl(payment),
    }),
    validBefore: t.expose('validBefore', { type: 'DateTime', description: 'When the authorization expires.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the payment was received.' }),
    verifiedAt: t.expose('verifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the payment was verified.',
    }),
    servedAt: t.expose('servedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the upstream responded or, if the payment is settled before the request, when the response was complete.',
    }),
    settledAt: t.expose('settledAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the payment was settled. If the settlement was confirmed on a later day in the project’s time zone, ' +
        'this is the time of confirmation.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the payment last changed.' }),
  }),
});

export const PaymentConnection = builder.connectionObject(
  { name: 'PaymentConnection', type: Payment, description: 'A page of payments, newest first.' },
  { name: 'PaymentEdge', description: 'A payment and its cursor.' },
);

export const PaymentFilter = builder.inputType('PaymentFilter', {
  description: 'Filters payments. All conditions must match.',
  extensions: checkedBy(paymentFilterInput),
  fields: (t) => ({
    status: t.field({ type: [PaymentStatusEnum], description: 'Only payments with one of these statuses.' }),
    endpointId: t.id({ description: 'Only payments for this endpoint.' }),
    customerId: t.id({ description: 'Only payments by this customer.' }),
    payer: t.string({ description: 'Only payments from this wallet, including payments that weren’t verified.' }),
    transactionHash: t.string({ description: 'Only payments settled by the transaction with this hash.' }),
    identifier: t.string({
      description:
        'Only payments with this buyer-supplied identifier. Excludes failed payments, because a failed payment releases its identifier.',
    }),
    minAmountUsd: t.string({ description: 'Only payments of at least this amount in USD, for example, "0.01".' }),
    maxAmountUsd: t.string({ description: 'Only payments of at most this amount in USD.' }),
    from: t.field({ type: 'DateTime', description: 'Only payments received at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only payments received before this time.' }),
    finishedFrom: t.field({
      type: 'DateTime',
      description: 'Only payments that settled or failed at or after this time. Revenue counts payments by this time.',
    }),
    finishedTo: t.field({ type: 'DateTime', description: 'Only payments that settled or failed before this time.' }),
  }),
});

const PaymentTotals = builder.simpleObject('PaymentTotals', {
  description: 'Totals for a set of payments.',
  fields: (t) => ({
    paymentCount: t.int({ description: 'Number of payments.' }),
    settledCount: t.int({ description: 'Number of settled payments.' }),
    settledUsd: t.string({ description: 'Settled amount in USD, as a decimal string.' }),
    settledAtomic: t.string({ description: 'Settled amount in millionths of a dollar.' }),
    failedCount: t.int({
      description:
        'Number of payments that failed after they were verified. Payments that fail verification are deleted soon afterward.',
    }),
    openCount: t.int({ description: 'Number of payments that are neither settled nor failed.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  payment: t.prismaField({
    type: Payment,
    nullable: true,
    description: 'A payment in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `pay_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.payments.find(viewer, id, project.id, query),
  }),
  payments: t.connection(
    {
      type: Payment,
      description: 'Payments for the project’s endpoints.',
      args: { filter: t.arg({ type: PaymentFilter, description: 'Filters the payments.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage('Payment', args, { context, info }, (query) =>
          context.services.payments.list(context.viewer, project.id, filter ?? {}, query),
        ),
    },
    PaymentConnection,
  ),
  paymentTotals: t.field({
    type: PaymentTotals,
    complexity: { field: STATISTIC_COST, multiplier: 1 },
    description: 'Totals for the project’s payments.',
    args: { filter: t.arg({ type: PaymentFilter, description: 'Filters the payments.' }) },
    resolve: async (project, { filter }, { services, viewer }) => {
      const { settledAtomic, ...counts } = await services.payments.totals(viewer, project.id, filter ?? {});
      return { ...counts, settledUsd: formatUsd(settledAtomic), settledAtomic: settledAtomic.toString() };
    },
  }),
}));

const PaymentUpdated = builder.simpleObject('PaymentUpdated', {
  description: 'A payment that changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass this cursor as `after` to continue from here.' }),
    payment: t.field({ type: Payment, description: 'The payment at the time it was read.' }),
  }),
});

builder.subscriptionField('paymentUpdated', (t) =>
  t.field({
    type: PaymentUpdated,
    nullable: true,
    description:
      'A project’s payments as they change. If you pass `after`, you first get the changes since that cursor. ' +
      'After you reconnect, the same change can arrive twice; compare `updatedAt` to detect this.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'The cursor of the last change you received.' }),
      filter: t.arg({ type: PaymentFilter, description: 'Filters the payments.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.payments(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
