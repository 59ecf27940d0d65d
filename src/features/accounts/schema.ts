import { isOperator } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolveSlice } from '../../schema/connections.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { pace } from '../replays/service.ts';
import { type AccountHealth, HEALTH_CURSORS, MAX_WAITING, OVERDUE_MINUTES, UNRESOLVED_MINUTES } from './health.ts';
import { type AccountService, MAX_COUNTED_FAILURES } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    accounts: AccountService;
  }
}

const AccountHealthType = builder.objectRef<AccountHealth>('AccountHealth').implement({
  description: 'What needs attention in an account, as operators see it.',
  fields: (t) => ({
    userId: t.exposeID('id', { description: 'The account’s user, `usr_…`.' }),
    issuer: t.exposeString('issuer', { description: 'Issuer of the user’s tokens.' }),
    subject: t.exposeString('subject', { description: 'Subject of the user’s tokens.' }),
    blockedAt: t.expose('blockedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the account was blocked; null if it isn’t blocked.',
    }),
    unresolvedPaymentCount: t.exposeInt('unresolvedPaymentCount', {
      description: `Number of payments that aren’t final after ${UNRESOLVED_MINUTES} minutes.`,
    }),
    unresolvedSince: t.expose('unresolvedSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When the oldest of these payments was sent.',
    }),
    disabledDestinationCount: t.exposeInt('disabledDestinationCount', {
      description: 'Number of webhooks and connectors that the service has disabled.',
    }),
    pausedDestinationCount: t.exposeInt('pausedDestinationCount', {
      description: 'Number of webhooks and connectors that the service has paused.',
    }),
    failingDestinationCount: t.exposeInt('failingDestinationCount', {
      description: 'Number of active webhooks and connectors whose last delivery failed.',
    }),
    failedDeliveryCount: t.exposeInt('failedDeliveryCount', {
      description: 'Number of deliveries that failed, after all retries, in the last 24 hours.',
    }),
    overdueDeliveryCount: t.exposeInt('overdueDeliveryCount', {
      description:
        `Number of deliveries that should have been sent more than ${OVERDUE_MINUTES} minute ago, among the ` +
        `${MAX_WAITING.toLocaleString('en')} oldest unfinished ones of each project.`,
    }),
    overdueSince: t.expose('overdueSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When the first of these deliveries should have been sent.',
    }),
  }),
});

const AccountHealthConnection = builder.connectionObject(
  {
    name: 'AccountHealthConnection',
    type: AccountHealthType,
    description: 'A page of accounts that need attention, worst first.',
  },
  { name: 'AccountHealthEdge', description: 'An account and its cursor.' },
);

builder.queryField('operatorHealth', (t) =>
  t.connection(
    {
      type: AccountHealthType,
      nullable: true,
      description:
        'The accounts in which something needs attention, worst first: by unresolved payments, then by disabled and ' +
        'paused destinations, failing destinations, failed deliveries, and overdue deliveries. For operators only: null ' +
        'for everyone else.',
      resolve: (_root, page, { services, viewer }) =>
        isOperator(viewer)
          ? resolveSlice(page, HEALTH_CURSORS, (slice) => services.accounts.health(viewer, slice))
          : null,
    },
    AccountHealthConnection,
  ),
);

builder.relayMutationField(
  'requeueDeliveries',
  {
    description: 'The account, and which of its failed deliveries to resend.',
    extensions: checkedBy(pace),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The account’s user.' }),
      from: t.field({ type: 'DateTime', description: 'Only deliveries created at or after this time. Default: all.' }),
      dryRun: t.boolean({ description: 'Whether to count the deliveries without resending them.' }),
      maxPerSecond: t.int({ description: 'Deliveries to queue per second and project, 1 to 1,000. Default: 50.' }),
    }),
  },
  {
    description:
      'Resends all failed deliveries of an account, except test events, with a replay in each of its projects. For ' +
      'operators only.',
    resolve: (_root, { input: { id, ...input } }, { services, viewer }) => services.accounts.requeue(viewer, id, input),
  },
  {
    description: 'The result of `requeueDeliveries`.',
    outputFields: (t) => ({
      total: t.int({
        description: `Number of failed deliveries. The count stops at ${MAX_COUNTED_FAILURES.toLocaleString('en')}, but all of them are resent.`,
        resolve: ({ total }) => total,
      }),
      replayCount: t.int({
        description: 'Number of replays that were started; 0 for a dry run.',
        resolve: ({ replayCount }) => replayCount,
      }),
    }),
  },
);
