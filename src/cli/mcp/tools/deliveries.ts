import { z } from 'zod';
import { deliveryStatuses, eventTypes, id, paging, time } from '../inputs.ts';
import { fromOutside, outsideText } from '../outside-text.ts';
import { defineTool, TO_READ_DELIVERIES, TO_SEND } from '../tool.ts';
import { pageOf, showPage } from '../view.ts';
import { attemptView, deliveryView } from '../views.ts';

/** Older attempts are left out, because each can be large. */
const SHOWN_ATTEMPTS = 5;

const explanation = z.object({
  deliveryId: z.string(),
  status: z.string(),
  summary: outsideText,
  next: z.string(),
  advice: z.string().nullable(),
  slowestPhase: z.string().nullable(),
  slowestPhaseMs: z.number().nullable(),
  remainingTries: z.array(z.object({ afterSeconds: z.number().nullable(), expectedAt: z.string().nullable() })),
  lastAttempt: attemptView.schema.nullable(),
  destination: z.object({
    id: z.string(),
    title: z.string(),
    isActive: z.boolean(),
    disabledReason: z.string().nullable(),
    pausedReason: outsideText.nullable(),
    failingSince: z.string().nullable(),
    isSlowedDown: z.boolean(),
  }),
});

export const deliveryTools = [
  defineTool({
    name: 'list_deliveries',
    title: 'List deliveries',
    description: 'Lists deliveries of events to webhooks and connectors, newest first.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { ...paging, status: deliveryStatuses, eventType: eventTypes, since: time.optional() },
    output: pageOf(deliveryView),
    run: (query, { tollgate }) => showPage(tollgate.deliveries.list(query), deliveryView),
  }),
  defineTool({
    name: 'get_delivery',
    title: 'Get a delivery',
    description: `Gets one delivery with its last ${SHOWN_ATTEMPTS} attempts and the responses to them.`,
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { deliveryId: id('dlv') },
    output: deliveryView.schema.extend({ attempts: z.array(attemptView.schema) }),
    async run({ deliveryId }, { tollgate }) {
      const delivery = await tollgate.deliveries.get(deliveryId);
      return {
        ...deliveryView.show(delivery),
        attempts: delivery.attempts.slice(-SHOWN_ATTEMPTS).map(attemptView.show),
      };
    },
  }),
  defineTool({
    name: 'explain_delivery',
    title: 'Explain a delivery',
    description: 'Explains a delivery’s status (for example, why it failed), what happens next, and what to do.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { deliveryId: id('dlv') },
    output: explanation,
    async run({ deliveryId }, { tollgate }) {
      const found = await tollgate.deliveries.explain(deliveryId);
      const { destination, lastAttempt, summary, ...rest } = found;
      return explanation.parse({
        ...rest,
        summary: fromOutside(summary),
        lastAttempt: lastAttempt && attemptView.show(lastAttempt),
        destination: { ...destination, pausedReason: fromOutside(destination.pausedReason) },
      });
    },
  }),
  defineTool({
    name: 'resend_delivery',
    title: 'Resend a delivery',
    description:
      'Sends one delivery again, with the same event. The receiver may get it twice. Use get_delivery to see the result.',
    requires: TO_SEND,
    effect: 'sends',
    input: { deliveryId: id('dlv') },
    output: deliveryView.schema,
    run: async ({ deliveryId }, { tollgate }) => deliveryView.show(await tollgate.deliveries.resend(deliveryId)),
  }),
];
