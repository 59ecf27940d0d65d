import { builder } from '../../../schema/builder.ts';
import { DeliveryStatusEnum, enumName } from '../../../schema/scalars.ts';
import { Attempt, Delivery } from '../schema.ts';
import { DELIVERY_PHASES, type DeliveryPhase, type DestinationState as DestinationStateShape } from './words.ts';

const PHASE_DESCRIPTIONS: Record<DeliveryPhase, string> = {
  dns: 'Resolving the host name.',
  connect: 'Opening the TCP connection.',
  tls: 'The TLS handshake.',
  first_byte: 'Waiting for the first byte of the response.',
  other: 'Reading the response, plus any remaining time.',
};

const DeliveryPhaseEnum = builder.enumType('DeliveryPhase', {
  description: 'A phase of an attempt.',
  values: Object.fromEntries(
    DELIVERY_PHASES.map((phase) => [enumName(phase), { value: phase, description: PHASE_DESCRIPTIONS[phase] }]),
  ),
});

const RemainingTry = builder.simpleObject('RemainingTry', {
  description: 'A remaining attempt, assuming that all earlier ones fail.',
  fields: (t) => ({
    afterSeconds: t.int({
      nullable: true,
      description: 'Seconds after the previous failure, ±20%; null for the next attempt.',
    }),
    expectedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Approximate time; null while the delivery is held.',
    }),
  }),
});

const DestinationState = builder.objectRef<DestinationStateShape>('DestinationState').implement({
  description: 'The current status of a delivery’s webhook or connector.',
  fields: (t) => ({
    destinationId: t.exposeID('id', { description: 'The webhook (`wh_…`) or connector (`con_…`).' }),
    title: t.exposeString('title', { description: '`webhook`, or the name of the connector’s service.' }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether the destination receives events.' }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why Tollgate disabled the destination, if it did.',
    }),
    disabledAt: t.expose('disabledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the destination was disabled.',
    }),
    pausedReason: t.exposeString('pausedReason', {
      nullable: true,
      description:
        'Why Tollgate paused deliveries: something that you must fix, such as the credentials, or five deliveries in a row that were rejected for the same reason. Null if you paused them.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the destination was paused.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When the current run of failures began.',
    }),
    isSlowedDown: t.exposeBoolean('isSlowedDown', {
      description: 'Whether attempts are spaced up to a minute apart because several deliveries in a row have failed.',
    }),
  }),
});

const CurlVariable = builder.simpleObject('CurlVariable', {
  description: 'A shell variable that a command needs.',
  fields: (t) => ({
    name: t.string({ description: 'The variable’s name, for example, `WEBHOOK_SECRET`.' }),
    description: t.string({ description: 'What to set the variable to.' }),
  }),
});

const DeliveryExplanation = builder.simpleObject('DeliveryExplanation', {
  description: 'An explanation of a delivery’s current status and what happens next.',
  fields: (t) => ({
    deliveryId: t.id({ description: 'The delivery.' }),
    status: t.field({ type: DeliveryStatusEnum, description: 'The status of the delivery.' }),
    summary: t.string({ description: 'The reason in plain language.' }),
    next: t.string({ description: 'What happens next, and when.' }),
    advice: t.string({
      nullable: true,
      description: 'What you can do about the status; null if there is nothing to do.',
    }),
    remainingTries: t.field({
      type: [RemainingTry],
      description: 'The remaining attempts, assuming all of them fail.',
    }),
    lastAttempt: t.field({
      type: Attempt,
      nullable: true,
      description: 'The last attempt, with the duration of each phase.',
    }),
    slowestPhase: t.field({
      type: DeliveryPhaseEnum,
      nullable: true,
      description: 'The slowest phase of the last attempt.',
    }),
    slowestPhaseMs: t.int({ nullable: true, description: 'Duration of the slowest phase in milliseconds.' }),
    destination: t.field({
      type: DestinationState,
      description: 'The current status of the delivery’s webhook or connector.',
    }),
    requestBody: t.string({
      nullable: true,
      description:
        'The body of the request, byte for byte, with secrets masked. For a connector, this is the first request ' +
        'that Tollgate would send for this event alone with the current settings. Null if the body can’t be shown.',
    }),
    curl: t.string({
      nullable: true,
      description:
        'Shell commands that send the request again, with secrets as variables; null if the commands cannot be shown safely.',
    }),
    curlVariables: t.field({ type: [CurlVariable], description: 'The variables that `curl` needs.' }),
  }),
});

builder.objectField(Delivery, 'explanation', (t) =>
  t.field({
    type: DeliveryExplanation,
    description:
      'The reason for the delivery’s current status, what happens next, and a command that sends the request again.',
    // Explaining a delivery takes several queries.
    complexity: { field: 50, multiplier: 1 },
    resolve: async ({ id }, _args, { services, viewer }) => {
      const { delivery, curl, ...explanation } = await services.deliveries.explain(viewer, id);
      return {
        ...explanation,
        deliveryId: delivery.id,
        status: delivery.status,
        curl: curl?.command ?? null,
        curlVariables: curl?.variables ?? [],
      };
    },
  }),
);
