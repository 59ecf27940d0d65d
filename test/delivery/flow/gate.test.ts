import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGate } from '../../../src/delivery/flow/gate.ts';
import type { ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import type { Job } from '../../../src/delivery/send/jobs.ts';

const jobOf = (destination: string, id: string): Job => ({
  deliveries: [{ destination, id } as ClaimedDelivery],
  send: async () => [],
});
const idOf = ({ deliveries }: Job) => deliveries[0]!.id;
const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Opens a gate that records the IDs of the jobs that were sent or cleared. */
function openGate(most: number) {
  const gate = createGate(most);
  const sent: string[] = [];
  const cleared: [id: string, turn: string][] = [];
  return {
    ...{ sent, cleared },
    clear: gate.clear,
    leave: gate.leave,
    enter(job: Job): Job {
      void gate.enter(job).then((turn) => (turn === 'go' ? sent.push(idOf(job)) : cleared.push([idOf(job), turn])));
      return job;
    },
  };
}

test('a destination gets a limited number of concurrent requests, and the rest follow one by one in order', async () => {
  const gate = openGate(2);
  const [one, two, three] = ['1', '2', '3', '4'].map((id) => gate.enter(jobOf('wh_1', id))) as [Job, Job, Job, Job];
  const other = gate.enter(jobOf('wh_2', 'other'));
  await settled();
  expect(gate.sent).toEqual(['1', '2', 'other']);
  gate.leave(one);
  gate.leave(other);
  await settled();
  expect(gate.sent).toEqual(['1', '2', 'other', '3']);
  for (const job of [two, three]) gate.leave(job);
  gate.enter(jobOf('wh_1', '5'));
  await settled();
  expect(gate.sent).toEqual(['1', '2', 'other', '3', '4', '5']);
});

test('jobs that are waiting can be cleared, and are not sent', async () => {
  const gate = openGate(1);
  const [one] = ['1', '2', '3'].map((id) => gate.enter(jobOf('wh_1', id))) as [Job, Job, Job];
  expect(gate.clear('closed').map(idOf)).toEqual(['2', '3']);
  gate.leave(one);
  await settled();
  expect(gate.sent).toEqual(['1']);
  expect(gate.cleared).toEqual([
    ['2', 'closed'],
    ['3', 'closed'],
  ]);
  expect(gate.clear('closed')).toEqual([]);
});

test('jobs that are waiting for one destination can be cleared without affecting other jobs', async () => {
  const gate = openGate(1);
  const [one] = ['1', '2'].map((id) => gate.enter(jobOf('wh_1', id))) as [Job, Job];
  const [three] = ['3', '4'].map((id) => gate.enter(jobOf('wh_2', id))) as [Job, Job];
  expect(gate.clear('put_back', 'wh_1').map(idOf)).toEqual(['2']);
  for (const job of [one, three]) gate.leave(job);
  gate.enter(jobOf('wh_1', '5'));
  await settled();
  expect(gate.sent).toEqual(['1', '3', '4', '5']);
  expect(gate.cleared).toEqual([['2', 'put_back']]);
});

test('a job that leaves before it has entered frees no slot', async () => {
  const gate = openGate(1);
  gate.enter(jobOf('wh_1', '1'));
  const two = gate.enter(jobOf('wh_1', '2'));
  gate.leave(two);
  await settled();
  expect(gate.sent).toEqual(['1']);
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
      const gate = createGate(most);
      const enter = (job: Job) =>
        void gate.enter(job).then(() => {
          underWay.push(job);
          sent.push(idOf(job));
        });
      const end = (index: number) => gate.leave(underWay.splice(index, 1)[0]!);
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
