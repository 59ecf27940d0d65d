import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import type { ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import { planJobs } from '../../../src/delivery/send/jobs.ts';
import type { ConnectorGroup } from '../../../src/delivery/send/send-connector.ts';

const WINDOW_SECONDS = 10;
const batched = defineConnector({
  type: 'google-sheets',
  title: 'Batched',
  category: 'Data',
  description: 'For tests.',
  documentationUrl: 'https://example.com',
  config: z.object({}),
  supportsEvent: () => true,
  batch: { maxEvents: 3, windowSeconds: WINDOW_SECONDS },
  build: () => ({ skip: '' }),
  classify: () => ({ kind: 'delivered' }),
});

/** A delivery that was created `ageSeconds` ago, seen at `second` of its connector's first window. */
function delivery(
  id: string,
  second: number,
  ageSeconds: number,
  values: Partial<ClaimedDelivery> = {},
): ClaimedDelivery {
  // The windows of a connector with an empty ID start at multiples of ten seconds.
  return {
    id,
    destination: '',
    projectId: 'proj_1',
    projectName: 'P',
    trigger: 'SCHEDULED',
    attemptCount: 0,
    retryStep: 0,
    leaseToken: 1,
    previousErrorClass: null,
    traceContext: null,
    ageSeconds,
    webhook: null,
    databaseTime: () => second * 1000,
    event: { id: `evt_${id}`, type: 'endpoint.created', test: false, timestamp: new Date(0), data: '{}' },
    connector: {
      id: '',
      type: 'google-sheets',
      isActive: true,
      isFailing: false,
      isPaused: false,
      secretConfig: '',
      eventTypes: ['*'],
      memory: {},
    },
    ...values,
  } as ClaimedDelivery;
}

/** Returns the groups of deliveries that are sent together, and how many seconds the other deliveries wait. */
async function plan(...deliveries: ClaimedDelivery[]): Promise<{ sent: string[][]; waits: number[] }> {
  const sent: string[][] = [];
  const jobs = planJobs(deliveries, {
    findConnector: () => batched as unknown as ConnectorDefinition,
    sendWebhook: () => Promise.reject(new Error('There is no webhook.')),
    sendToConnector: async (group: ConnectorGroup) => {
      sent.push(group.map(({ id }) => id));
      return group.map(() => ({ attempts: [], verdict: { kind: 'delivered' as const } }));
    },
  });
  const control = { mayRetry: () => true, nextSlot: async () => true, signal: new AbortController().signal };
  await Promise.all(jobs.map(({ send }) => send?.(control)));
  const waits = jobs.flatMap(({ deliveries: group, verdict }) =>
    verdict?.kind === 'wait' ? group.map(() => verdict.afterSeconds) : [],
  );
  return { sent, waits };
}

describe('deliveries to a type that takes batches', () => {
  test('wait for the end of the window they were created in', async () => {
    expect(await plan(delivery('a', 12, 1), delivery('b', 12, 0))).toEqual({ sent: [], waits: [8, 8] });
    expect(await plan(delivery('a', 19.5, 9))).toEqual({ sent: [], waits: [0.5] });
  });

  test('are sent together once the window ends', async () => {
    expect(await plan(delivery('a', 20.1, 8), delivery('b', 20.1, 3))).toEqual({ sent: [['a', 'b']], waits: [] });
  });

  test('are split into requests of the maximum batch size', async () => {
    const { sent } = await plan(...['a', 'b', 'c', 'd', 'e'].map((id) => delivery(id, 20.1, 5)));
    expect(sent).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
  });

  test.each([
    ['was attempted before', { attemptCount: 1 }],
    ['was requested manually', { trigger: 'MANUAL' as const }],
    ['is a test', { event: { ...delivery('', 0, 0).event, test: true } }],
  ])('do not wait when one of them %s', async (_, values) => {
    expect(await plan(delivery('a', 12, 1), delivery('b', 12, 1, values))).toEqual({ sent: [['a', 'b']], waits: [] });
  });
});
