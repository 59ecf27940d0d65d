import { builder } from '../../../schema/builder.ts';
import { DeliveryStatusEnum, enumName } from '../../../schema/scalars.ts';
import { Attempt, Delivery } from '../schema.ts';
import { DELIVERY_PHASES, type DeliveryPhase } from './words.ts';

const PHASE_DESCRIPTIONS: Record<DeliveryPhase, string> = {
  dns: 'Resolving the name.',
  connect: 'Opening the TCP connection.',
  tls: 'The TLS handshake.',
  first_byte: 'Waiting for the first byte of the answer.',
  other: 'Reading the answer, and whatever else.',
};

const DeliveryPhaseEnum = builder.enumType('DeliveryPhase', {
  description: 'A part of an attempt.',
  values: Object.fromEntries(
    DELIVERY_PHASES.map((phase) => [enumName(phase), { value: phase, description: PHASE_DESCRIPTIONS[phase] }]),
  ),
});

const RemainingTry = builder.simpleObject('RemainingTry', {
  description: 'A try that is left to a delivery, if all those before it fail.',
  fields: (t) => ({
    afterSeconds: t.int({
      nullable: true,
      description: 'Seconds after the failure before it, ±20 %; null for the one that is due next.',
    }),
    expectedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'About when; null while the delivery is held.',
    }),
  }),
});

const DestinationState = builder.simpleObject('DestinationState', {
  description: 'How the webhook or connector of a delivery stands.',
  fields: (t) => ({
    id: t.id({ description: 'The webhook, `wh_…`, or connector, `con_…`.' }),
    title: t.string({ description: '`webhook`, or the name of the connector’s service.' }),
    isActive: t.boolean({ description: 'Whether it is sent events at all.' }),
    disabledReason: t.string({ nullable: true, description: 'Why the service disabled it, if it did.' }),
    disabledAt: t.field({ type: 'DateTime', nullable: true, description: 'When it was disabled.' }),
    pausedReason: t.string({
      nullable: true,
      description:
        'Why its deliveries are held: the credential was refused, or five deliveries in a row for the same reason.',
    }),
    pausedAt: t.field({ type: 'DateTime', nullable: true, description: 'Since when.' }),
    failingSince: t.field({ type: 'DateTime', nullable: true, description: 'Since when every delivery has failed.' }),
    isSlowedDown: t.boolean({
      description:
        'Whether sending is held back for up to a minute at a time, because several deliveries in a row have failed.',
    }),
  }),
});

const CurlVariable = builder.simpleObject('CurlVariable', {
  description: 'A variable of the shell that a command needs.',
  fields: (t) => ({
    name: t.string({ description: 'Its name, for example `WEBHOOK_SECRET`.' }),
    description: t.string({ description: 'What to put there.' }),
  }),
});

const DeliveryExplanation = builder.simpleObject('DeliveryExplanation', {
  description: 'Why a delivery stands where it stands, and what comes next.',
  fields: (t) => ({
    deliveryId: t.id({ description: 'The delivery.' }),
    status: t.field({ type: DeliveryStatusEnum, description: 'Where it stands.' }),
    summary: t.string({ description: 'Why, in plain words.' }),
    next: t.string({ description: 'What comes next, and when.' }),
    advice: t.string({ nullable: true, description: 'What you can do; null when there is nothing to do.' }),
    remainingTries: t.field({ type: [RemainingTry], description: 'The tries that are left, if all fail.' }),
    lastAttempt: t.field({ type: Attempt, nullable: true, description: 'The last try, with what its parts took.' }),
    slowestPhase: t.field({
      type: DeliveryPhaseEnum,
      nullable: true,
      description: 'What took the most time of the last try.',
    }),
    slowestPhaseMs: t.int({ nullable: true, description: 'Milliseconds of it.' }),
    destination: t.field({ type: DestinationState, description: 'How its webhook or connector stands.' }),
    curl: t.string({
      nullable: true,
      description:
        'Commands for a shell that send the request again, secrets as variables; null where that cannot be shown safely.',
    }),
    curlVariables: t.field({ type: [CurlVariable], description: 'The variables that `curl` needs.' }),
  }),
});

builder.objectField(Delivery, 'explanation', (t) =>
  t.field({
    type: DeliveryExplanation,
    description: 'Why it stands where it stands, what comes next, and a command that sends the request again.',
    // It takes a few reads for each delivery.
    complexity: { field: 50, multiplier: 1 },
    resolve: async ({ id }, _args, { services, viewer }) => {
      const { delivery, curl, ...explanation } = await services.deliveries.explain(viewer, id);
      return {
        ...explanation,
        ...{ deliveryId: delivery.id, status: delivery.status },
        ...{ curl: curl?.command ?? null, curlVariables: curl?.variables ?? [] },
      };
    },
  }),
);
