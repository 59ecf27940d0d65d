import type { ObjectRef } from '@pothos/core';
import type { EventTypeFilter } from '../../events/kinds.ts';
import type { Connector, Webhook } from '../../generated/prisma/client.ts';
import type { builder } from '../../schema/builder.ts';
import { EventTypeFilterEnum } from '../../schema/scalars.ts';

type SchemaTypes = typeof builder.$inferSchemaTypes;
/** What webhooks and connectors have in common. */
type Destination = Pick<Webhook, keyof Webhook & keyof Connector>;

/** The fields that webhooks and connectors share: subscription, status, and health. */
export function destinationFields(t: PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Destination>) {
  return {
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    eventTypes: t.field({
      type: [EventTypeFilterEnum],
      description: 'The event types it is subscribed to.',
      resolve: ({ eventTypes }) => eventTypes as EventTypeFilter[],
    }),
    filter: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'A filter on the contents of events; null sends all events. Events that don’t match have no delivery. They list this ' +
        'destination in `filteredOut`, and `deliveryStats` counts them.',
      resolve: ({ filter }) => filter,
    }),
    maxPerSecond: t.exposeFloat('maxPerSecond', {
      nullable: true,
      description:
        'Rate limit in requests per second, for example, 0.5; null for no limit. Connectors always stay within their vendor’s limit.',
    }),
    isActive: t.exposeBoolean('isActive', {
      description: 'Whether events are sent. While this is false, they are skipped.',
    }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description:
        'Why it was disabled automatically: `gone` (it responded with 410) or `failing` (five days without a success). Null if ' +
        'it is active or you disabled it.',
    }),
    disabledAt: t.expose('disabledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was disabled; null while it is active.',
    }),
    isPaused: t.boolean({
      description: 'Whether deliveries are held. While this is true, they wait. Once it is false, they are sent.',
      resolve: ({ pausedAt }) => pausedAt !== null,
    }),
    pausedReason: t.exposeString('pausedReason', {
      nullable: true,
      description:
        'Why Tollgate paused it: something that you must fix, such as the credentials, or five deliveries in a row that ' +
        'were rejected for the same reason. Null if it isn’t paused or you paused it.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was paused; null if it isn’t paused.',
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
        'Set after several failures in a row. Until this time, deliveries wait, except those you resend manually.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  };
}

/** The part of a type that webhooks and connectors have in common. */
export function asDestination(ref: ObjectRef<SchemaTypes, Destination>) {
  return ref;
}

type InputFields = PothosSchemaTypes.InputFieldBuilder<SchemaTypes, 'InputObject'>;

const RATE_LIMIT =
  'Rate limit in requests per second, 0.01 to 1,000 with at most two decimal places, for example, 0.5. Connectors always ' +
  'stay within their vendor’s limit, so a rate above it has no effect.';
const FILTER_EXAMPLE = '`{"data.amountUsd": {"gte": "1.00"}}`';

/** The inputs shared by creating a webhook and creating a connector. */
export function subscriptionInputs(t: InputFields) {
  return {
    eventTypes: t.field({
      type: [EventTypeFilterEnum],
      required: true,
      description: 'The event types to subscribe to.',
    }),
    filter: t.field({
      type: 'JSON',
      description: `A filter on the contents of events, for example, ${FILTER_EXAMPLE}. Omit it to send all events.`,
    }),
    maxPerSecond: t.float({ description: `${RATE_LIMIT} Omit it for no limit.` }),
  };
}

/** The inputs shared by updating a webhook and updating a connector. */
export function subscriptionChanges(t: InputFields) {
  return {
    eventTypes: t.field({ type: [EventTypeFilterEnum], description: 'The event types to subscribe to.' }),
    filter: t.field({
      type: 'JSON',
      description: `A filter on the contents of events, for example, ${FILTER_EXAMPLE}. Null sends all events.`,
    }),
    maxPerSecond: t.float({ description: `${RATE_LIMIT} Null removes it.` }),
    isActive: t.boolean({
      description:
        'Whether events are sent. While this is false, events are skipped and aren’t delivered later. Setting it to true also ' +
        'clears the reason it was disabled or paused.',
    }),
    isPaused: t.boolean({
      description:
        'Whether deliveries are held. While this is true, only test events are sent. Setting it to false sends the ' +
        'held deliveries. A pause that you set yourself ends only this way.',
    }),
  };
}
