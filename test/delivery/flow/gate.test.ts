import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGate } from '../../../src/delivery/flow/gate.ts';
import type { ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import type { Job } from '../../../src/delivery/send/jobs.ts';

const jobOf = (destination: string, id: string): Job => ({
  deliveries: [{ destination, id } as ClaimedDelivery],
  run: async () => [],
});
const idOf = ({ deliveries }: Job) => deliveries[0]!.id;
const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;

test('so many requests to a destination are under way, and the others go one by one, first come first served', () => {
  const sent: string[] = [];
  const gate = createGate(2, (job) => sent.push(idOf(job)));
  for (const id of ['1', '2', '3', '4']) gate.enter(jobOf('wh_1', id));
  gate.enter(jobOf('wh_2', 'other'));
  expect(sent).toEqual(['1', '2', 'other']);
  gate.leave('wh_1');
  gate.leave('wh_2');
  expect(sent).toEqual(['1', '2', 'other', '3']);
  gate.leave('wh_1');
  gate.leave('wh_1');
  gate.leave('wh_1');
  gate.enter(jobOf('wh_1', '5'));
  expect(sent).toEqual(['1', '2', 'other', '3', '4', '5']);
});

test('what waits can be taken out, and is not sent', () => {
  const sent: string[] = [];
  const gate = createGate(1, (job) => sent.push(idOf(job)));
  for (const id of ['1', '2', '3']) gate.enter(jobOf('wh_1', id));
  expect(gate.clear().map(idOf)).toEqual(['2', '3']);
  gate.leave('wh_1');
  expect(sent).toEqual(['1']);
  expect(gate.clear()).toEqual([]);
});

test('what waits for one destination can be taken out, and the others go on', () => {
  const sent: string[] = [];
  const gate = createGate(1, (job) => sent.push(idOf(job)));
  for (const id of ['1', '2']) gate.enter(jobOf('wh_1', id));
  for (const id of ['3', '4']) gate.enter(jobOf('wh_2', id));
  expect(gate.clear('wh_1').map(idOf)).toEqual(['2']);
  gate.leave('wh_1');
  gate.leave('wh_2');
  gate.enter(jobOf('wh_1', '5'));
  expect(sent).toEqual(['1', '3', '4', '5']);
});

test('in whatever order they come and end, each is sent once, and never too many at once', () => {
  const steps = fc.array(
    fc.record({ isEnd: fc.boolean(), destination: fc.constantFrom('wh_1', 'wh_2', 'con_3'), pick: fc.nat() }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (all, most) => {
      const underWay: Job[] = [];
      const sent: string[] = [];
      const gate = createGate(most, (job) => {
        underWay.push(job);
        sent.push(idOf(job));
      });
      const end = (index: number) => gate.leave(destinationOf(underWay.splice(index, 1)[0]!));
      let entered = 0;
      for (const { isEnd, destination, pick } of all) {
        if (!isEnd) gate.enter(jobOf(destination, String(entered++)));
        else if (underWay.length > 0) end(pick % underWay.length);
        const counts = [...Map.groupBy(underWay, destinationOf).values()].map(({ length }) => length);
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(most);
      }
      while (underWay.length > 0) end(0);
      expect(sent.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: entered }, (_, index) => index));
    }),
  );
});
