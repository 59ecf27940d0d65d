import { describe, expect, test } from 'vitest';
import { createUnauthenticatedConnections } from '../../src/limits/unauthenticated-connections.ts';

/** Admits connections named after their address and number, and lists the evicted ones. */
function open(limits: { perAddress: number; total: number }) {
  const unauthenticated = createUnauthenticatedConnections(limits);
  const evicted: string[] = [];
  const enter = (address: string, number = 1) =>
    unauthenticated.enter(address, () => evicted.push(`${address} ${number}`));
  return { enter, evicted };
}

describe('unauthenticated connections', () => {
  test('replace the oldest one of their address if it has too many', () => {
    const { enter, evicted } = open({ perAddress: 2, total: 10 });
    enter('192.0.2.2', 1);
    const [leave] = [1, 2].map((number) => enter('192.0.2.1', number));
    enter('192.0.2.1', 3);
    expect(evicted).toEqual(['192.0.2.1 1']);
    // The first one no longer counts.
    leave!();
    enter('192.0.2.1', 4);
    expect(evicted).toEqual(['192.0.2.1 1', '192.0.2.1 2']);
  });

  test('no longer count once they have left', () => {
    const { enter, evicted } = open({ perAddress: 1, total: 2 });
    for (let number = 1; number <= 3; number++) {
      const leave = enter('192.0.2.1', number);
      leave();
      leave();
    }
    enter('192.0.2.1', 4);
    enter('192.0.2.2', 5);
    expect(evicted).toEqual([]);
  });

  test('share a limit if they come from the same IPv6 network', () => {
    const { enter, evicted } = open({ perAddress: 1, total: 10 });
    enter('2001:db8::1');
    enter('2001:db8:0:1::1');
    enter('2001:db8::2');
    expect(evicted).toEqual(['2001:db8::1 1']);
  });

  test('replace the oldest one of the address with the most if there are too many in total', () => {
    const { enter, evicted } = open({ perAddress: 10, total: 5 });
    enter('198.51.100.1');
    for (let number = 1; number <= 4; number++) enter('203.0.113.1', number);
    enter('192.0.2.1');
    enter('192.0.2.2');
    expect(evicted).toEqual(['203.0.113.1 1', '203.0.113.1 2']);
  });

  test.each([
    ['203.0.113.1', '203.0.113.2', '203.0.113.3'],
    ['2001:db8::1', '2001:db8:0:1::1', '2001:db8:0:2::1'],
  ])('count together if one customer can have all of their addresses: %s, %s, %s', (...addresses) => {
    const { enter, evicted } = open({ perAddress: 10, total: 5 });
    for (const number of [1, 2]) enter('198.51.100.1', number);
    for (const address of addresses) enter(address);
    enter('192.0.2.1');
    expect(evicted).toEqual([`${addresses[0]} 1`]);
  });

  test('replace the one that has waited longest if no address has more than the others', () => {
    const { enter, evicted } = open({ perAddress: 10, total: 3 });
    const [leave] = ['192.0.2.1', '198.51.100.1', '203.0.113.1'].map((address) => enter(address));
    leave!();
    for (const address of ['192.0.3.1', '192.0.4.1', '192.0.5.1']) enter(address);
    expect(evicted).toEqual(['198.51.100.1 1', '203.0.113.1 1']);
  });
});
