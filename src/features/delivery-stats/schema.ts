import { builder } from '../../schema/builder.ts';
import { Project } from '../projects/schema.ts';
import { RevenueIntervalEnum } from '../revenue/schema.ts';
import type { DeliveryFigures, DeliveryStats as DeliveryStatsModel, DeliveryStatsService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    deliveryStats: DeliveryStatsService;
  }
}

const DeliveryFiguresInterface = builder.interfaceRef<DeliveryFigures>('DeliveryFigures').implement({
  description: 'How deliveries ended.',
  fields: (t) => ({
    succeededCount: t.exposeInt('succeededCount', { description: 'Deliveries that were accepted.' }),
    failedCount: t.exposeInt('failedCount', { description: 'Deliveries that were given up.' }),
    skippedCount: t.exposeInt('skippedCount', { description: 'Deliveries that were not to be sent.' }),
    retriedCount: t.exposeInt('retriedCount', { description: 'Deliveries that needed more than one attempt.' }),
    responseTimeP50Ms: t.exposeInt('responseTimeP50Ms', {
      nullable: true,
      description: 'Milliseconds that half of the last attempts took at most; null when nothing was sent.',
    }),
    responseTimeP95Ms: t.exposeInt('responseTimeP95Ms', {
      nullable: true,
      description: 'Milliseconds that 95 % of the last attempts took at most; null when nothing was sent.',
    }),
  }),
});

const DeliveryBucket = builder.objectRef<DeliveryFigures & { start: Date }>('DeliveryBucket').implement({
  description: 'How the deliveries that were finished in one interval ended.',
  interfaces: [DeliveryFiguresInterface],
  fields: (t) => ({
    start: t.expose('start', { type: 'DateTime', description: 'When the interval begins.' }),
  }),
});

const DeliveryTotals = builder.objectRef<DeliveryFigures>('DeliveryTotals').implement({
  description: 'How the deliveries of a whole period ended.',
  interfaces: [DeliveryFiguresInterface],
});

const DeliveryStats = builder.objectRef<DeliveryStatsModel>('DeliveryStats').implement({
  description: 'How the deliveries of a period went, by interval.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Beginning of the first interval.' }),
    to: t.expose('to', { type: 'DateTime', description: 'End of the last interval.' }),
    interval: t.expose('interval', { type: RevenueIntervalEnum, description: 'Length of the intervals.' }),
    buckets: t.expose('buckets', {
      type: [DeliveryBucket],
      description: 'Every interval of the period in order, those without deliveries included.',
    }),
    totals: t.expose('totals', { type: DeliveryTotals, description: 'All intervals together.' }),
    isPartial: t.exposeBoolean('isPartial', {
      description: 'Whether there were more than 200,000 deliveries: then the newest of them are counted.',
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  deliveryStats: t.field({
    type: DeliveryStats,
    description: 'How deliveries to all webhooks and connectors of the project went.',
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
    resolve: (project, query, { services, viewer }) => services.deliveryStats.read(viewer, project.id, query),
  }),
}));
