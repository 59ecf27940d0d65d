import type { ObjectRef } from '@pothos/core';
import type { EventTypeFilter } from '../../events/types.ts';
import type { Connector, Webhook } from '../../generated/prisma/client.ts';
import type { builder } from '../../schema/builder.ts';
import { EventTypeFilterEnum } from '../../schema/scalars.ts';

type SchemaTypes = typeof builder.$inferSchemaTypes;

/**
 * The columns that are always read for a webhook or connector, because they are small. The others are read only for
 * documents that select them.
 */
export const DESTINATION_COLUMNS = {
  id: true,
  projectId: true,
  name: true,
  eventTypes: true,
  maxPerSecond: true,
  isActive: true,
  disabledReason: true,
  disabledAt: true,
  pausedReason: true,
  pausedAt: true,
  failingSince: true,
  circuitOpenUntil: true,
  createdAt: true,
  updatedAt: true,
} as const;

/** The columns that are always read. */
type Destination = Pick<Webhook & Connector, keyof typeof DESTINATION_COLUMNS>;

/** The field `filter` of webhooks and connectors. */
export const FILTER_FIELD = {
  type: 'JSON',
  nullable: true,
  description:
    'A filter on the contents of events; null sends all events. No delivery is created for events that don’t ' +
    'match. Those events list this destination in `filteredOut`, and `deliveryStats` counts them.',
} as const;

/** The fields that webhooks and connectors share: name, subscription, status, and health. */
export function destinationFields(t: PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Destination>) {
  return {
    projectId: t.exposeID('projectId', { description: 'The project that the destination belongs to.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'The destination’s name; null if it has none.',
    }),
    eventTypes: t.field({
      type: [EventTypeFilterEnum],
      description: 'The subscribed event types.',
      resolve: ({ eventTypes }) => eventTypes as EventTypeFilter[],
    }),
    maxPerSecond: t.exposeFloat('maxPerSecond', {
      nullable: true,
      description:
        'Rate limit in requests per second, for example, 0.5; null for no limit. Connectors always stay within their vendor’s limit.',
    }),
    isActive: t.exposeBoolean('isActive', {
      description: 'Whether events are sent. While this is false, events are skipped.',
    }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description:
        'Why Tollgate disabled the destination: `gone` (it responded with 410) or `failing` (five days without a success). Null if ' +
        'the destination is active or you disabled it.',
    }),
    disabledAt: t.expose('disabledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the destination was disabled; null while it is active.',
    }),
    isPaused: t.boolean({
      description:
        'Whether deliveries are held. While this is true, deliveries wait. They are sent once this is false.',
      resolve: ({ pausedAt }) => pausedAt !== null,
    }),
    pausedReason: t.exposeString('pausedReason', {
      nullable: true,
      description:
        'Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that ' +
        'were rejected for the same reason. Null if they aren’t paused or you paused them.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When deliveries were paused; null if they aren’t paused.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When the current run of failures started; null if the last delivery succeeded.',
    }),
    circuitOpenUntil: t.expose('circuitOpenUntil', {
      type: 'DateTime',
      nullable: true,
      description:
        'After several failures in a row, deliveries wait until this time, except those you resend manually.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the destination was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the destination was last changed.' }),
  };
}

/** The part of a type that webhooks and connectors have in common. */
export function asDestination(ref: ObjectRef<SchemaTypes, Destination>) {
  return ref;
}

type InputFields = PothosSchemaTypes.InputFieldBuilder<SchemaTypes, 'InputObject'>;

const RATE_LIMIT =
  'Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always ' +
  'stay within their vendor’s limit, so a higher rate has no effect.';
const FILTER_EXAMPLE = '`{"data.amountUsd": {"gte": "1.00"}}`';

/** The inputs shared by creating a webhook and creating a connector. */
export function subscriptionInputs(t: InputFields) {
  return {
    name: t.string({
      description:
        'A name of your choice, 1 to 60 characters, to help you recognize the destination. Names don’t have to be unique.',
    }),
    eventTypes: t.field({
      type: [EventTypeFilterEnum],
      required: true,
      description: 'The event types to subscribe to.',
    }),
    filter: t.field({
      type: 'JSON',
      description: `A filter on the contents of events, for example, ${FILTER_EXAMPLE}. Omit this field to send all events.`,
    }),
    maxPerSecond: t.float({ description: `${RATE_LIMIT} Omit this field for no limit.` }),
  };
}

/** The inputs shared by updating a webhook and updating a connector. */
export function subscriptionChanges(t: InputFields) {
  return {
    name: t.string({ description: 'A name of your choice, 1 to 60 characters. Set to null to remove the name.' }),
    eventTypes: t.field({ type: [EventTypeFilterEnum], description: 'The event types to subscribe to.' }),
    filter: t.field({
      type: 'JSON',
      description: `A filter on the contents of events, for example, ${FILTER_EXAMPLE}. Set to null to send all events.`,
    }),
    maxPerSecond: t.float({ description: `${RATE_LIMIT} Set to null to remove the limit.` }),
    isActive: t.boolean({
      description:
        'Whether events are sent. While this is false, events are skipped and aren’t delivered later. Setting this to true also ' +
        'clears the reason the destination was disabled or paused.',
    }),
    isPaused: t.boolean({
      description:
        'Whether deliveries are held. While this is true, only test events are sent. Setting this to false sends the ' +
        'held deliveries. If you paused deliveries yourself, this is the only way to resume them.',
    }),
  };
}
