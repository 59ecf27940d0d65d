import { z } from 'zod';
import type { ReplayFilter } from '../../../../packages/sdk/src/index.ts';
import { eventTypes, id, maxPerSecond, time } from '../inputs.ts';
import { defineTool, TO_READ_DELIVERIES, TO_SEND, ToolRefusal } from '../tool.ts';
import { replayView } from '../views.ts';

const DEFAULT_PER_SECOND = 50;

const replayedStatuses = z
  .array(z.enum(['PENDING', 'SUCCEEDED', 'FAILED', 'SKIPPED']))
  .min(1)
  .max(4);

export const replayTools = [
  defineTool({
    name: 'prepare_replay',
    title: 'Count deliveries to resend',
    description:
      'Counts the deliveries that match a filter, and returns a confirmation for start_replay. It sends nothing. Tell the user the count, and ask before you start the replay.',
    requires: TO_SEND,
    effect: 'none',
    input: {
      status: replayedStatuses.optional().describe('Only deliveries with one of these statuses. Default: FAILED.'),
      eventTypes,
      webhookId: id('wh').optional(),
      connectorId: id('con').optional(),
      since: time.optional().describe('Only deliveries created at or after this time.'),
      until: time.optional().describe('Only deliveries created before this time. Default: now.'),
      maxPerSecond,
    },
    output: z.object({
      total: z.number().describe('The number of deliveries that would be sent again.'),
      confirmation: z
        .string()
        .nullable()
        .describe('The confirmation to pass to start_replay within 10 minutes. Null if no deliveries match.'),
      maxPerSecond: z.number(),
      until: z.string(),
    }),
    async run(input, { tollgate, projectId, confirmations }) {
      const { status = ['FAILED' as const], since, until = new Date().toISOString(), ...rest } = input;
      const { maxPerSecond: rate = DEFAULT_PER_SECOND, ...destinations } = rest;
      // The end of the period is fixed, so the replay includes only deliveries that were counted.
      const filter: ReplayFilter = { ...destinations, status, to: until, ...(since && { from: since }) };
      const { total } = await tollgate.replays.create({ filter, maxPerSecond: rate, dryRun: true });
      const confirmation = total > 0 ? confirmations.add({ projectId, filter, maxPerSecond: rate, total }) : null;
      return { total, confirmation, maxPerSecond: rate, until };
    },
  }),
  defineTool({
    name: 'start_replay',
    title: 'Resend the counted deliveries',
    description:
      'Resends the deliveries that prepare_replay counted. Call it only after the user has seen the count and agreed.',
    requires: TO_SEND,
    effect: 'sends',
    input: {
      confirmation: z.string().max(64).describe('The confirmation from prepare_replay. It can be used only once.'),
    },
    output: replayView.schema,
    async run({ confirmation }, { tollgate, projectId, confirmations, ask }) {
      const prepared = confirmations.take(confirmation);
      if (!prepared || prepared.projectId !== projectId) {
        throw new ToolRefusal(
          'Nothing was sent. The confirmation is unknown, older than 10 minutes, or already used. Call prepare_replay, and tell the user the count.',
        );
      }
      const { filter, maxPerSecond: rate, total } = prepared;
      const countAgain = async (counted: number) => {
        const now = await tollgate.replays.create({ filter, dryRun: true });
        if (now.total <= counted) return now.total;
        throw new ToolRefusal(
          `Nothing was sent. ${now.total} deliveries now match, not ${counted}. Call prepare_replay again, and tell the user the new count.`,
        );
      };
      const asked = await countAgain(total);
      const reply = await ask(`Resend ${asked} deliveries, up to ${rate} per second?`);
      if (reply === 'declined') throw new ToolRefusal('The user declined. Nothing was sent.');
      // The user may have taken minutes to reply.
      if (reply === 'confirmed') await countAgain(asked);
      const { replay } = await tollgate.replays.create({ filter, maxPerSecond: rate });
      return replayView.show(replay!);
    },
  }),
  defineTool({
    name: 'get_replay',
    title: 'Get a replay',
    description: 'Gets the progress of a replay.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { replayId: id('rpl') },
    output: replayView.schema,
    run: async ({ replayId }, { tollgate }) => replayView.show(await tollgate.replays.get(replayId)),
  }),
  defineTool({
    name: 'cancel_replay',
    title: 'Cancel a replay',
    description: 'Stops a replay. Deliveries that are already queued are still sent.',
    requires: TO_SEND,
    effect: 'replaces',
    input: { replayId: id('rpl') },
    output: replayView.schema,
    run: async ({ replayId }, { tollgate }) => replayView.show(await tollgate.replays.cancel(replayId)),
  }),
];
