import { describe, expect, test } from 'vitest';
import { createUnauthenticatedConnections } from '../../src/limits/unauthenticated-connections.ts';

const never = () => expect.unreachable();

describe('unauthenticated connections', () => {
  test('are limited per address, and other addresses are not affected', () => {
    const unauthenticated = createUnauthenticatedConnections({ perAddress: 2, total: 10 });
    const leave = unauthenticated.enter('192.0.2.1', never)!;
    expect(unauthenticated.enter('192.0.2.1', never)).toBeDefined();
    expect(unauthenticated.enter('192.0.2.1', never)).toBeUndefined();
    expect(unauthenticated.enter('192.0.2.2', never)).toBeDefined();
    leave();
    leave();
    expect(unauthenticated.enter('192.0.2.1', never)).toBeDefined();
    expect(unauthenticated.enter('192.0.2.1', never)).toBeUndefined();
  });

  test('share a limit if they come from the same IPv6 network', () => {
    const unauthenticated = createUnauthenticatedConnections({ perAddress: 1, total: 10 });
    expect(unauthenticated.enter('2001:db8::1', never)).toBeDefined();
    expect(unauthenticated.enter('2001:db8::2', never)).toBeUndefined();
    expect(unauthenticated.enter('2001:db8:0:1::1', never)).toBeDefined();
  });

  test('close the one that has waited longest if there are too many in total', () => {
    const unauthenticated = createUnauthenticatedConnections({ perAddress: 10, total: 3 });
    const evicted: string[] = [];
    const enter = (name: string) => unauthenticated.enter(`192.0.2.${name}`, () => evicted.push(name));
    const [leave] = ['1', '2', '3'].map(enter);
    leave!();
    enter('4');
    expect(evicted).toEqual([]);
    enter('5');
    enter('6');
    expect(evicted).toEqual(['2', '3']);
  });
});
