import { builder } from '../../schema/builder.ts';
import { costOfIntervalStatistic, costOfIntervals } from '../../schema/cost.ts';
import { Project } from '../projects/schema.ts';
import { countIntervals } from '../revenue/period.ts';
import { RevenueIntervalEnum } from '../revenue/schema.ts';
import type { FilteredOut } from './filtered-out.ts';
import type { DeliveryFigures, DeliveryStats as DeliveryStatsModel, DeliveryStatsService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    deliveryStats: DeliveryStatsService;
  }
}

const DeliveryFiguresInterface = builder.interfaceRef<DeliveryFigures>('DeliveryFigures').implement({
  description: 'Delivery counts and response times.',
  fields: (t) => ({
    succeededCount: t.exposeInt('succeededCount', { description: 'Deliveries that succeeded.' }),
    failedCount: t.exposeInt('failedCount', { description: 'Deliveries that failed, with or without retries.' }),
    skippedCount: t.exposeInt('skippedCount', { description: 'Deliveries that were skipped.' }),
    retriedCount: t.exposeInt('retriedCount', { description: 'Deliveries that needed more than one attempt.' }),
    responseTimeP50Ms: t.exposeInt('responseTimeP50Ms', {
      nullable: true,
      description: 'Median response time of the deliveries’ last attempts, in milliseconds; null if nothing was sent.',
    }),
    responseTimeP95Ms: t.exposeInt('responseTimeP95Ms', {
      nullable: true,
      description:
        '95th percentile response time of the deliveries’ last attempts, in milliseconds; null if nothing was sent.',
    }),
  }),
});

const DeliveryBucket = builder.objectRef<DeliveryFigures & { start: Date }>('DeliveryBucket').implement({
  description: 'Statistics for deliveries that finished in one interval.',
  interfaces: [DeliveryFiguresInterface],
  fields: (t) => ({
    start: t.expose('start', { type: 'DateTime', description: 'Start of the interval.' }),
  }),
});

const DeliveryTotals = builder.objectRef<DeliveryFigures>('DeliveryTotals').implement({
  description: 'Statistics for the whole period.',
  interfaces: [DeliveryFiguresInterface],
});

const FilteredOutCount = builder.objectRef<FilteredOut>('FilteredOutCount').implement({
  description: 'How many events a destination’s filter excluded.',
  fields: (t) => ({
    destinationId: t.exposeID('destinationId', {
      description: 'The webhook or connector, which may have been deleted.',
    }),
    count: t.exposeInt('count', { description: 'Number of events of subscribed types that don’t match the filter.' }),
  }),
});

const DeliveryStats = builder.objectRef<DeliveryStatsModel>('DeliveryStats').implement({
  description: 'Delivery statistics for a period, by interval.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Start of the first interval.' }),
    to: t.expose('to', { type: 'DateTime', description: 'End of the last interval.' }),
    interval: t.expose('interval', { type: RevenueIntervalEnum, description: 'Length of each interval.' }),
    buckets: t.expose('buckets', {
      type: [DeliveryBucket],
      complexity: (_args, pricing) => costOfIntervals(pricing),
      description: 'All intervals in the period, in order, including those without deliveries.',
    }),
    totals: t.expose('totals', { type: DeliveryTotals, description: 'Totals for all intervals.' }),
    filteredOut: t.expose('filteredOut', {
      type: [FilteredOutCount],
      description:
        'Events in the period that were excluded by filters, for each webhook and connector, with the largest counts ' +
        'first. These events have no delivery, so no other count includes them.',
    }),
    isPartial: t.exposeBoolean('isPartial', {
      description:
        'Whether deliveries or filtered-out events are missing from the statistics: if more than 200,000 have not been aggregated yet, ' +
        'only the newest of those are included.',
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  deliveryStats: t.field({
    type: DeliveryStats,
    complexity: (query, pricing) => costOfIntervalStatistic(pricing, countIntervals(query)),
    description: 'Delivery statistics for all webhooks and connectors in the project.',
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
        description: 'Length of each interval. The period can span at most 1,000 intervals.',
      }),
    },
    resolve: (project, query, { services, viewer }) => services.deliveryStats.read(viewer, project.id, query),
  }),
}));
