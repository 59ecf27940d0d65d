import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstIdAt, ID_PREFIXES, type IdType, isId, millisecondsOfId, newId, typeOfId } from '../src/ids.ts';

const TYPES = Object.keys(ID_PREFIXES) as IdType[];
const anyType = fc.constantFrom(...TYPES);
/** 48 bits, like the time in a UUIDv7. */
const anyTime = fc.integer({ min: 0, max: 2 ** 48 - 1 });

describe('a new ID', () => {
  test.each(TYPES)('has the prefix of its type (%s) and 26 unambiguous characters', (type) => {
    const id = newId(type);
    expect(id).toMatch(new RegExp(`^${ID_PREFIXES[type]}_[0-7][0-9a-hjkmnp-tv-z]{25}$`));
    expect(typeOfId(id)).toBe(type);
    for (const other of TYPES) expect(isId(other, id)).toBe(other === type);
  });

  test('is a version 7 UUID', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
    let value = 0n;
    for (const character of newId('Event').slice(4)) value = value * 32n + BigInt(alphabet.indexOf(character));
    expect((value >> 76n) & 0xfn).toBe(7n);
    expect((value >> 62n) & 0x3n).toBe(2n);
    expect(value < 1n << 128n).toBe(true);
  });

  test('contains its time', () => {
    const before = Date.now();
    const milliseconds = millisecondsOfId(newId('Project'));
    expect(milliseconds).toBeGreaterThanOrEqual(before);
    // IDs beyond a millisecond's capacity use the next milliseconds.
    expect(milliseconds).toBeLessThanOrEqual(Date.now() + 100);
  });

  test('is greater than all earlier IDs, even when thousands are created at the same time', () => {
    const ids = Array.from({ length: 50_000 }, () => newId('Delivery'));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is greater than all earlier IDs, even when the clock steps back', () => {
    const now = Date.now();
    const ids = [0, -1, -60_000, 1, -5, 2, 0].map((step) => newId('Event', now + 1_000 + step));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is unique across threads that create IDs at the same time', async () => {
    const source = `
      const { parentPort } = require('node:worker_threads');
      import(${JSON.stringify(new URL('../src/ids.ts', import.meta.url).href)}).then(({ newId }) =>
        parentPort.postMessage(Array.from({ length: 20000 }, () => newId('Delivery'))));`;
    const made = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const worker = new Worker(source, { eval: true });
        const { promise, resolve, reject } = Promise.withResolvers<string[]>();
        worker.once('message', resolve).once('error', reject);
        return promise.finally(() => worker.terminate());
      }),
    );
    expect(new Set(made.flat()).size).toBe(80_000);
  });
});

describe('the first ID of a time', () => {
  test('converts back to that time', () => {
    fc.assert(fc.property(anyType, anyTime, (type, time) => millisecondsOfId(firstIdAt(type, time)) === time));
  });

  test('is well-formed and sorts like its time', () => {
    const property = fc.property(anyType, anyTime, anyTime, (type, one, other) => {
      const [left, right] = [firstIdAt(type, one), firstIdAt(type, other)];
      expect(isId(type, left)).toBe(true);
      expect(Math.sign(one - other)).toBe(left < right ? -1 : left > right ? 1 : 0);
    });
    fc.assert(property);
  });

  test('is no greater than any ID from that time, and greater than any earlier ID', () => {
    const now = Date.now() + 10_000;
    const id = newId('Event', now);
    expect(firstIdAt('Event', now) <= id).toBe(true);
    expect(firstIdAt('Event', now + 1) > id).toBe(true);
  });

  test('is the smallest possible ID if the time is before 1970', () => {
    expect(firstIdAt('Event', -20_000)).toBe('evt_00000000000000000000000000');
  });

  test('is from the last possible millisecond if the time is after the year 10889', () => {
    const last = millisecondsOfId('evt_7zzzzzzzzzzzzzzzzzzzzzzzzz');
    expect(millisecondsOfId(firstIdAt('Event', last + 10_000))).toBe(last);
  });
});

describe('text that is not an ID', () => {
  const good = newId('Project');
  test.each([
    ...['', '_', 'proj', 'proj_', good.slice(0, -1), `${good}0`, ` ${good}`, `${good} `, `${good}\n`, `${good}\0`],
    ...[good.toUpperCase(), good.replace('_', '-'), good.replace('proj', 'prj'), good.replace('proj_', '_')],
    ...['proj_80000000000000000000000000', 'proj_i0000000000000000000000000', 'proj_0000000000000000000000000u'],
    ...[
      '__proto___00000000000000000000000000',
      'toString',
      'proj_００００００００００００００００００００００００００',
    ],
  ])('is rejected: %j', (text) => {
    expect(typeOfId(text)).toBeUndefined();
    for (const type of TYPES) expect(isId(type, text)).toBe(false);
  });

  test('is rejected if it is random', () => {
    const property = fc.property(fc.string({ unit: 'binary' }), (text) => typeOfId(text) === undefined);
    fc.assert(property, { numRuns: 2_000 });
  });
});
