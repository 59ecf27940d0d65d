import { formatUsd } from '../../money.ts';
import { builder } from '../../schema/builder.ts';
import { Project } from '../projects/schema.ts';
import type { Revenue as RevenueModel, RevenueService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    revenue: RevenueService;
  }
}

export const RevenueIntervalEnum = builder.enumType('RevenueInterval', {
  description: 'Length of the intervals that figures are given by, all of UTC.',
  values: {
    HOUR: { value: 'HOUR', description: 'An hour.' },
    DAY: { value: 'DAY', description: 'A day.' },
    MONTH: { value: 'MONTH', description: 'A calendar month.' },
  } as const,
});

const RevenueBucket = builder.simpleObject('RevenueBucket', {
  description: 'What was earned in one interval.',
  fields: (t) => ({
    start: t.field({ type: 'DateTime', description: 'When the interval begins.' }),
    totalUsd: t.string({ description: 'What was settled, decimal USD.' }),
    totalAtomic: t.string({ description: 'The same in millionths of a dollar.' }),
    paymentCount: t.int({ description: 'Payments that were settled.' }),
    failedCount: t.int({ description: 'Payments that failed once they were verified.' }),
  }),
});

const RevenueEndpoint = builder.simpleObject('RevenueEndpoint', {
  description: 'What an endpoint earned in a period.',
  fields: (t) => ({
    endpointId: t.id({ description: 'The endpoint. It may be deleted since.' }),
    path: t.string({ description: 'Its path, now or last.' }),
    totalUsd: t.string({ description: 'What was settled, decimal USD.' }),
    totalAtomic: t.string({ description: 'The same in millionths of a dollar.' }),
    paymentCount: t.int({ description: 'Payments that were settled.' }),
  }),
});

const RevenueCustomer = builder.simpleObject('RevenueCustomer', {
  description: 'What a customer paid in a period.',
  fields: (t) => ({
    customerId: t.id({ description: 'The customer.' }),
    walletAddress: t.string({ description: 'The wallet, EIP-55 checksummed.' }),
    totalUsd: t.string({ description: 'What was settled, decimal USD.' }),
    totalAtomic: t.string({ description: 'The same in millionths of a dollar.' }),
    paymentCount: t.int({ description: 'Payments that were settled.' }),
  }),
});

const RevenueTotals = builder.objectRef<RevenueModel>('RevenueTotals').implement({
  description: 'What was earned in a whole period.',
  fields: (t) => ({
    totalUsd: t.string({
      description: 'What was settled, decimal USD.',
      resolve: ({ totals }) => formatUsd(totals.totalAtomic),
    }),
    totalAtomic: t.string({
      description: 'The same in millionths of a dollar.',
      resolve: ({ totals }) => totals.totalAtomic.toString(),
    }),
    paymentCount: t.int({ description: 'Payments that were settled.', resolve: ({ totals }) => totals.paymentCount }),
    failedCount: t.int({
      description: 'Payments that failed once they were verified.',
      resolve: ({ totals }) => totals.failedCount,
    }),
    customerCount: t.int({
      description: 'Customers with a settled payment.',
      resolve: (revenue, _args, { services }) => services.revenue.customerCount(revenue),
    }),
  }),
});

const firstArgument = { required: true, defaultValue: 10, description: 'How many, at most 100.' } as const;

const Revenue = builder.objectRef<RevenueModel>('Revenue').implement({
  description: 'What a project has earned in a period, by interval.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Beginning of the first interval.' }),
    to: t.expose('to', { type: 'DateTime', description: 'End of the last interval.' }),
    interval: t.expose('interval', { type: RevenueIntervalEnum, description: 'Length of the intervals.' }),
    buckets: t.field({
      type: [RevenueBucket],
      description: 'Every interval of the period in order, those without payments included.',
      resolve: ({ buckets }) => buckets.map(presentSum),
    }),
    totals: t.field({ type: RevenueTotals, description: 'All intervals together.', resolve: (revenue) => revenue }),
    topEndpoints: t.field({
      type: [RevenueEndpoint],
      description: 'The endpoints that earned most in the period.',
      args: { first: t.arg.int(firstArgument) },
      resolve: async (revenue, { first }, { services }) =>
        (await services.revenue.topEndpoints(revenue, first)).map(presentSum),
    }),
    topCustomers: t.field({
      type: [RevenueCustomer],
      description: 'The customers who paid most in the period.',
      args: { first: t.arg.int(firstArgument) },
      resolve: async (revenue, { first }, { services }) =>
        (await services.revenue.topCustomers(revenue, first)).map(presentSum),
    }),
  }),
});

function presentSum<T extends { totalAtomic: bigint }>(sum: T) {
  return { ...sum, totalUsd: formatUsd(sum.totalAtomic), totalAtomic: sum.totalAtomic.toString() };
}

builder.objectFields(Project, (t) => ({
  revenue: t.field({
    type: Revenue,
    description: 'What the project has earned.',
    args: {
      from: t.arg({
        type: 'DateTime',
        description: 'Beginning; without it 24 hours, 30 days or 12 months before the end, as the interval is.',
      }),
      to: t.arg({
        type: 'DateTime',
        description: 'End, excluded; without it now. Both are widened to whole intervals.',
      }),
      interval: t.arg({
        type: RevenueIntervalEnum,
        required: true,
        defaultValue: 'DAY',
        description: 'Length of the intervals; at most 1000 of them.',
      }),
    },
    resolve: (project, query, { services, viewer }) => services.revenue.read(viewer, project.id, query),
  }),
}));
