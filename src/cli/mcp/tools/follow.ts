import { parse } from 'graphql';
import { z } from 'zod';
import type { TollgateError } from '../../../../packages/sdk/src/index.ts';
import type { ServiceClient } from '../../service-client.ts';
import { deliveryStatuses, eventTypes } from '../inputs.ts';
import { defineTool, TO_READ_DELIVERIES } from '../tool.ts';
import { deliveryView } from '../views.ts';

/** Applications give up on a call after a minute. */
const MAX_WAIT_SECONDS = 30;
const DEFAULT_WAIT_SECONDS = 20;
const MAX_CHANGES = 50;
/** Changes often come together, such as those of an event's deliveries. */
const GROUP_MILLISECONDS = 500;

const START_QUERY = parse('query McpStart($id: ID!) { project(id: $id) { liveCursors { deliveries } } }');
const startResult = z.object({
  project: z.object({ liveCursors: z.object({ deliveries: z.string() }).nullable() }).nullable(),
});

export const followTools = [
  defineTool({
    name: 'follow_deliveries',
    title: 'Follow deliveries',
    description:
      'Waits until deliveries change, for example, because an attempt failed, and returns them. To continue without missing a change, call it again with `cursor` as `after`.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: {
      status: deliveryStatuses,
      eventType: eventTypes,
      after: z.string().max(500).optional().describe('`cursor` of the previous call. Default: now.'),
      waitSeconds: z
        .int()
        .min(1)
        .max(MAX_WAIT_SECONDS)
        .optional()
        .describe(`How long to wait for a change, 1 to ${MAX_WAIT_SECONDS}. Default: ${DEFAULT_WAIT_SECONDS}.`),
    },
    output: z.object({
      data: z.array(deliveryView.schema).describe('The deliveries that changed. Empty if none changed in time.'),
      cursor: z.string().nullable().describe('Pass this cursor as `after` to continue.'),
      lostConnection: z.string().nullable().describe('Why the connection was lost while waiting. Call again.'),
    }),
    async run({ after, waitSeconds = DEFAULT_WAIT_SECONDS, ...filter }, { tollgate, client, projectId }) {
      const end = new AbortController();
      const stop = () => end.abort();
      let timer = setTimeout(stop, waitSeconds * 1000);
      let lost: TollgateError | undefined;
      try {
        const feed = tollgate.deliveries.follow(filter, {
          after: after ?? (await positionNow(client, projectId, end.signal)),
          signal: end.signal,
          onReconnect(error) {
            lost = error;
          },
        });
        const data: Record<string, unknown>[] = [];
        for await (const delivery of feed) {
          if (data.push(deliveryView.show(delivery)) === MAX_CHANGES) break;
          if (data.length > 1) continue;
          clearTimeout(timer);
          timer = setTimeout(stop, GROUP_MILLISECONDS);
        }
        return { data, cursor: feed.cursor ?? null, lostConnection: lost?.message ?? null };
      } finally {
        clearTimeout(timer);
        stop();
      }
    },
  }),
];

/** Where the deliveries of a project are now, so that the next call continues from here even if nothing changes. */
async function positionNow(client: ServiceClient, id: string, signal: AbortSignal): Promise<string | undefined> {
  const { project } = startResult.parse(await client.run<unknown, object>(START_QUERY, { id }, signal));
  return project?.liveCursors?.deliveries;
}
