import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createConcurrencyLimiter } from '../../../src/delivery/flow/capacity.ts';
import type { ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import type { Job } from '../../../src/delivery/send/jobs.ts';

const jobOf = (destination: string, id: string): Job => ({
  deliveries: [{ destination, id } as ClaimedDelivery],
  send: async () => [],
});
const idOf = ({ deliveries }: Job) => deliveries[0]!.id;
const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Opens a limiter that records the IDs of the jobs that were sent or cleared. */
function openGate(most: number) {
  const limiter = createConcurrencyLimiter(most);
  const sent: string[] = [];
  const cleared: [id: string, result: string][] = [];
  return {
    sent,
    cleared,
    clear: limiter.clear,
    leave: limiter.leave,
    enter(job: Job): Job {
      void limiter
        .enter(job)
        .then((result) => (result === 'go' ? sent.push(idOf(job)) : cleared.push([idOf(job), result])));
      return job;
    },
  };
}

test('a destination gets a limited number of concurrent requests, and the rest follow one by one in order', async () => {
  const limiter = openGate(2);
  const [one, two, three] = ['1', '2', '3', '4'].map((id) => limiter.enter(jobOf('wh_1', id))) as [Job, Job, Job, Job];
  const other = limiter.enter(jobOf('wh_2', 'other'));
  await settled();
  expect(limiter.sent).toEqual(['1', '2', 'other']);
  limiter.leave(one);
  limiter.leave(other);
  await settled();
  expect(limiter.sent).toEqual(['1', '2', 'other', '3']);
  for (const job of [two, three]) limiter.leave(job);
  limiter.enter(jobOf('wh_1', '5'));
  await settled();
  expect(limiter.sent).toEqual(['1', '2', 'other', '3', '4', '5']);
});

test('jobs that are waiting can be cleared, and are not sent', async () => {
  const limiter = openGate(1);
  const [one] = ['1', '2', '3'].map((id) => limiter.enter(jobOf('wh_1', id))) as [Job, Job, Job];
  expect(limiter.clear('closed').map(idOf)).toEqual(['2', '3']);
  limiter.leave(one);
  await settled();
  expect(limiter.sent).toEqual(['1']);
  expect(limiter.cleared).toEqual([
    ['2', 'closed'],
    ['3', 'closed'],
  ]);
  expect(limiter.clear('closed')).toEqual([]);
});

test('jobs that are waiting for one destination can be cleared without affecting other jobs', async () => {
  const limiter = openGate(1);
  const [one] = ['1', '2'].map((id) => limiter.enter(jobOf('wh_1', id))) as [Job, Job];
  const [three] = ['3', '4'].map((id) => limiter.enter(jobOf('wh_2', id))) as [Job, Job];
  expect(limiter.clear('put_back', 'wh_1').map(idOf)).toEqual(['2']);
  for (const job of [one, three]) limiter.leave(job);
  limiter.enter(jobOf('wh_1', '5'));
  await settled();
  expect(limiter.sent).toEqual(['1', '3', '4', '5']);
  expect(limiter.cleared).toEqual([['2', 'put_back']]);
});

test('a job that leaves before it has entered frees no slot', async () => {
  const limiter = openGate(1);
  limiter.enter(jobOf('wh_1', '1'));
  const two = limiter.enter(jobOf('wh_1', '2'));
  limiter.leave(two);
  await settled();
  expect(limiter.sent).toEqual(['1']);
});

test('each job is sent once, and never too many at the same time, no matter in what order they start and end', async () => {
  const steps = fc.array(
    fc.record({ isEnd: fc.boolean(), destination: fc.constantFrom('wh_1', 'wh_2', 'con_3'), pick: fc.nat() }),
    { maxLength: 200 },
  );
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (all, most) => {
      const underWay: Job[] = [];
      const sent: string[] = [];
      const limiter = createConcurrencyLimiter(most);
      const enter = (job: Job) =>
        void limiter.enter(job).then(() => {
          underWay.push(job);
          sent.push(idOf(job));
        });
      const end = (index: number) => limiter.leave(underWay.splice(index, 1)[0]!);
      let entered = 0;
      for (const { isEnd, destination, pick } of all) {
        if (!isEnd) enter(jobOf(destination, String(entered++)));
        else if (underWay.length > 0) end(pick % underWay.length);
        await Promise.resolve();
        const counts = [...Map.groupBy(underWay, destinationOf).values()].map(({ length }) => length);
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(most);
      }
      await settled();
      while (underWay.length > 0) {
        end(0);
        await settled();
      }
      expect(sent.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: entered }, (_, index) => index));
    }),
  );
});
