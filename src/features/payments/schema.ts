import { getAddress } from 'viem';
import { inVisibleProject } from '../../auth/access.ts';
import { PaymentStage, PaymentStatus } from '../../generated/prisma/enums.ts';
import { formatUsd } from '../../money.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { Project } from '../projects/schema.ts';
import { explorerUrlOf } from './explorer.ts';
import { atomicOf } from './payload.ts';
import type { PaymentService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    payments: PaymentService;
  }
}

const PaymentStatusEnum = builder.enumType('PaymentStatus', {
  description: 'Where a payment stands.',
  values: {
    CLAIMED: { value: PaymentStatus.CLAIMED, description: 'Was presented; its signature is being verified.' },
    VERIFIED: { value: PaymentStatus.VERIFIED, description: 'The signature is good; the upstream is being called.' },
    SERVED: { value: PaymentStatus.SERVED, description: 'The upstream has answered; nothing is charged yet.' },
    SETTLING: { value: PaymentStatus.SETTLING, description: 'The settlement is being sent.' },
    SETTLED: { value: PaymentStatus.SETTLED, description: 'Was settled on-chain.' },
    FAILED: { value: PaymentStatus.FAILED, description: 'Has failed: nothing was charged.' },
    UNKNOWN: {
      value: PaymentStatus.UNKNOWN,
      description: 'The settlement was sent and its result is not known yet; the chain is being asked.',
    },
  },
});

const PaymentStageEnum = builder.enumType('PaymentStage', {
  description: 'What a payment failed at.',
  values: {
    VERIFY: {
      value: PaymentStage.VERIFY,
      description: 'The signature or the terms were not good, or it was interrupted.',
    },
    UPSTREAM: { value: PaymentStage.UPSTREAM, description: 'The upstream failed, or answered with an error.' },
    SETTLE: { value: PaymentStage.SETTLE, description: 'It could not be settled.' },
  },
});

export const Payment = builder.prismaNode('Payment', {
  description: 'One payment for one request, and what became of it.',
  id: { field: 'id', description: 'Identifier, `pay_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    endpointId: t.exposeID('endpointId', { description: 'The endpoint that was paid for. It may be deleted since.' }),
    endpointPath: t.exposeString('endpointPath', { description: 'Path of that endpoint at the time.' }),
    method: t.exposeString('method', { description: 'HTTP method of the request.' }),
    customerId: t.exposeID('customerId', { nullable: true, description: 'The payer as a customer, once verified.' }),
    status: t.expose('status', { type: PaymentStatusEnum, description: 'Where it stands.' }),
    failureStage: t.expose('failureStage', {
      type: PaymentStageEnum,
      nullable: true,
      description: 'What it failed at.',
    }),
    failureReason: t.exposeString('failureReason', {
      nullable: true,
      description: 'Stable code of why it failed or its settlement is not known, for example `insufficient_funds`.',
    }),
    failureMessage: t.exposeString('failureMessage', { nullable: true, description: 'The same, for people.' }),
    amountUsd: t.string({
      description: 'Decimal USD.',
      resolve: ({ amountAtomic }) => formatUsd(atomicOf(amountAtomic)),
    }),
    amountAtomic: t.string({
      description: 'Whole atomic units of the asset (millionths for USDC).',
      resolve: ({ amountAtomic }) => amountAtomic.toFixed(0),
    }),
    asset: t.exposeString('asset', { description: 'Symbol of the asset, for example `USDC`.' }),
    assetAddress: t.string({
      description: 'Contract of the asset, EIP-55 checksummed.',
      resolve: ({ assetAddress }) => getAddress(assetAddress),
    }),
    network: t.exposeString('network', { description: 'CAIP-2 network, for example `eip155:8453`.' }),
    payer: t.string({ description: 'Wallet that pays.', resolve: ({ payer }) => getAddress(payer) }),
    payTo: t.string({ description: 'Wallet that is paid.', resolve: ({ payTo }) => getAddress(payTo) }),
    nonce: t.exposeString('nonce', { description: 'Nonce of the authorization (EIP-3009): it can pay once.' }),
    x402Version: t.exposeInt('x402Version', { description: 'Version of the protocol that the payer spoke.' }),
    upstreamStatusCode: t.exposeInt('upstreamStatusCode', {
      nullable: true,
      description: 'HTTP status of the upstream’s answer; null without one.',
    }),
    upstreamDurationMs: t.exposeInt('upstreamDurationMs', {
      nullable: true,
      description: 'Milliseconds the upstream took to answer; null when it did not.',
    }),
    transactionHash: t.exposeString('transactionHash', {
      nullable: true,
      description: 'Transaction of the settlement. Of an unknown one: the transaction that was announced.',
    }),
    explorerUrl: t.string({
      nullable: true,
      description: 'Page about the transaction, on networks with a well-known explorer.',
      resolve: explorerUrlOf,
    }),
    validBefore: t.expose('validBefore', { type: 'DateTime', description: 'When the authorization ends.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was presented.' }),
    verifiedAt: t.expose('verifiedAt', { type: 'DateTime', nullable: true, description: 'When it was verified.' }),
    servedAt: t.expose('servedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the upstream had answered.',
    }),
    settledAt: t.expose('settledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was settled; if that became known on a later UTC day, when it did.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
});

export const PaymentConnection = builder.connectionObject(
  { name: 'PaymentConnection', type: Payment, description: 'A page of payments, newest first.' },
  { name: 'PaymentEdge', description: 'A payment and its cursor.' },
);

const PaymentFilter = builder.inputType('PaymentFilter', {
  description: 'Which payments to take.',
  fields: (t) => ({
    status: t.field({ type: [PaymentStatusEnum], description: 'In one of these states.' }),
    endpointId: t.id({ description: 'For this endpoint.' }),
    customerId: t.id({ description: 'Of this customer.' }),
    payer: t.string({ description: 'Of this wallet, verified or not.' }),
    transactionHash: t.string({ description: 'Settled by this transaction.' }),
    from: t.field({ type: 'DateTime', description: 'Presented at or after.' }),
    to: t.field({ type: 'DateTime', description: 'Presented before.' }),
  }),
});

const PaymentTotals = builder.simpleObject('PaymentTotals', {
  description: 'What a number of payments come to.',
  fields: (t) => ({
    paymentCount: t.int({ description: 'All of them.' }),
    settledCount: t.int({ description: 'Those that are settled.' }),
    settledUsd: t.string({ description: 'What was settled, decimal USD.' }),
    settledAtomic: t.string({ description: 'The same in millionths of a dollar.' }),
    failedCount: t.int({ description: 'Those that failed once they were verified. Others are soon deleted.' }),
    openCount: t.int({ description: 'Those that are neither.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  payment: t.prismaField({
    type: Payment,
    nullable: true,
    description: 'One payment of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `pay_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.payments.find(viewer, id, project.id, query),
  }),
  payments: t.connection(
    {
      type: Payment,
      description: 'Payments for the endpoints of the project.',
      args: { filter: t.arg({ type: PaymentFilter, description: 'Which ones.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage('Payment', args, { context, info }, (query) =>
          context.services.payments.list(context.viewer, project.id, filter ?? {}, query),
        ),
    },
    PaymentConnection,
  ),
  paymentTotals: t.field({
    type: PaymentTotals,
    description: 'What the payments of the project come to.',
    args: { filter: t.arg({ type: PaymentFilter, description: 'Which ones.' }) },
    resolve: async (project, { filter }, { services, viewer }) => {
      const { settledAtomic, ...counts } = await services.payments.totals(viewer, project.id, filter ?? {});
      return { ...counts, settledUsd: formatUsd(settledAtomic), settledAtomic: settledAtomic.toString() };
    },
  }),
}));

const PaymentUpdated = builder.simpleObject('PaymentUpdated', {
  description: 'A payment that changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass it as `after` to go on from here.' }),
    payment: t.field({ type: Payment, description: 'The payment as it was when it was read.' }),
  }),
});

builder.subscriptionField('paymentUpdated', (t) =>
  t.field({
    type: PaymentUpdated,
    nullable: true,
    description:
      'Payments of a project as they change. With `after`, first what was missed since that cursor. ' +
      'A change can come twice: compare `updatedAt`.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'Cursor of the last one seen.' }),
      filter: t.arg({ type: PaymentFilter, description: 'Which ones.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.payments(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
