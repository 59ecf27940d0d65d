import { formatUsd } from '../../money.ts';
import { builder } from '../../schema/builder.ts';
import {
  CUSTOMER_STATISTIC_COST,
  costOfIntervalStatistic,
  costOfIntervals,
  inPage,
  LONG_TEXT,
  STATISTIC_COST,
} from '../../schema/cost.ts';
import { Project } from '../projects/schema.ts';
import { countIntervals } from './period.ts';
import type { Revenue as RevenueModel, RevenueService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    revenue: RevenueService;
  }
}

export const RevenueIntervalEnum = builder.enumType('RevenueInterval', {
  description:
    'The length of an interval. Hours are in UTC. Days and months of revenue are in the project’s time zone, and those of statistics in UTC.',
  values: {
    HOUR: { value: 'HOUR', description: 'An hour.' },
    DAY: { value: 'DAY', description: 'A day.' },
    MONTH: { value: 'MONTH', description: 'A calendar month.' },
  } as const,
});

const RevenueBucket = builder.simpleObject('RevenueBucket', {
  description: 'Revenue for one interval.',
  fields: (t) => ({
    start: t.field({ type: 'DateTime', description: 'The start of the interval.' }),
    totalUsd: t.string({ description: 'Settled revenue in USD, as a decimal string.' }),
    totalAtomic: t.string({ description: 'Settled revenue in millionths of a dollar.' }),
    paymentCount: t.int({ description: 'The number of settled payments.' }),
    failedCount: t.int({ description: 'The number of payments that failed after they were verified.' }),
  }),
});

const RevenueEndpoint = builder.simpleObject('RevenueEndpoint', {
  description: 'Revenue from an endpoint in a period.',
  fields: (t) => ({
    endpointId: t.id({ description: 'The endpoint, which may have been deleted.' }),
    path: t.string({ ...LONG_TEXT, description: 'The endpoint’s path, or its last path if it was deleted.' }),
    totalUsd: t.string({ description: 'Settled revenue in USD, as a decimal string.' }),
    totalAtomic: t.string({ description: 'Settled revenue in millionths of a dollar.' }),
    paymentCount: t.int({ description: 'The number of settled payments.' }),
  }),
});

const RevenueCustomer = builder.simpleObject('RevenueCustomer', {
  description: 'Revenue from a customer in a period.',
  fields: (t) => ({
    customerId: t.id({ description: 'The customer.' }),
    walletAddress: t.string({ description: 'The wallet, EIP-55 checksummed.' }),
    totalUsd: t.string({ description: 'Settled revenue in USD, as a decimal string.' }),
    totalAtomic: t.string({ description: 'Settled revenue in millionths of a dollar.' }),
    paymentCount: t.int({ description: 'The number of settled payments.' }),
  }),
});

const RevenueTotals = builder.objectRef<RevenueModel>('RevenueTotals').implement({
  description: 'Revenue for a whole period.',
  fields: (t) => ({
    totalUsd: t.string({
      description: 'Settled revenue in USD, as a decimal string.',
      resolve: ({ totals }) => formatUsd(totals.totalAtomic),
    }),
    totalAtomic: t.string({
      description: 'Settled revenue in millionths of a dollar.',
      resolve: ({ totals }) => totals.totalAtomic.toString(),
    }),
    paymentCount: t.int({
      description: 'The number of settled payments.',
      resolve: ({ totals }) => totals.paymentCount,
    }),
    failedCount: t.int({
      description: 'The number of payments that failed after they were verified.',
      resolve: ({ totals }) => totals.failedCount,
    }),
    customerCount: t.int({
      complexity: { field: CUSTOMER_STATISTIC_COST, multiplier: 1 },
      description: 'The number of customers with a settled payment.',
      resolve: (revenue, _args, { services }) => services.revenue.customerCount(revenue),
    }),
  }),
});

const firstArgument = { required: true, defaultValue: 10, description: 'How many to return, at most 100.' } as const;

const Revenue = builder.objectRef<RevenueModel>('Revenue').implement({
  description: 'A project’s revenue in a period, by interval.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'The start of the first interval.' }),
    to: t.expose('to', { type: 'DateTime', description: 'The end of the last interval.' }),
    interval: t.expose('interval', { type: RevenueIntervalEnum, description: 'The length of each interval.' }),
    timeZone: t.exposeString('timeZone', {
      description: 'The time zone of the days and months, such as `Europe/Vienna`: the project’s. Hours are in UTC.',
    }),
    buckets: t.field({
      type: [RevenueBucket],
      complexity: (_args, pricing) => costOfIntervals(pricing),
      description: 'All intervals in the period, in order, including those without payments.',
      resolve: ({ buckets }) => buckets.map(presentSum),
    }),
    totals: t.field({ type: RevenueTotals, description: 'Totals for all intervals.', resolve: (revenue) => revenue }),
    topEndpoints: t.field({
      type: [RevenueEndpoint],
      complexity: ({ first }) => ({ field: STATISTIC_COST, multiplier: inPage(first) }),
      description: 'The endpoints with the most revenue in the period.',
      args: { first: t.arg.int(firstArgument) },
      resolve: async (revenue, { first }, { services }) =>
        (await services.revenue.topEndpoints(revenue, first)).map(presentSum),
    }),
    topCustomers: t.field({
      type: [RevenueCustomer],
      complexity: ({ first }) => ({ field: CUSTOMER_STATISTIC_COST, multiplier: inPage(first) }),
      description: 'The customers who paid the most in the period.',
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
    complexity: (query, pricing) => costOfIntervalStatistic(pricing, countIntervals(query)),
    description: 'The project’s revenue.',
    args: {
      from: t.arg({
        type: 'DateTime',
        description:
          'Start of the period. Defaults to 24 hours, 30 days, or 12 months before the end, depending on the interval.',
      }),
      to: t.arg({
        type: 'DateTime',
        description:
          'End of the period (exclusive). Defaults to now. The start and the end are rounded outward to whole intervals.',
      }),
      interval: t.arg({
        type: RevenueIntervalEnum,
        required: true,
        defaultValue: 'DAY',
        description: 'The length of each interval. The period can span at most 1,000 intervals.',
      }),
    },
    resolve: (project, query, { services, viewer }) => services.revenue.read(viewer, project, query),
  }),
}));
