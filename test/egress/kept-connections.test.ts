import { describe, expect, test } from 'vitest';
import { keptConnections, MAX_KEPT_CONNECTIONS } from '../../src/egress/kept-connections.ts';

const limits = (openFiles: string) =>
  `Limit                     Soft Limit           Hard Limit           Units
Max processes             127416               127416               processes
Max open files            ${openFiles.padEnd(20)} 1048576              files
`;

describe('the number of connections that are kept open', () => {
  test('is at most half the limit on open files', () => {
    expect(keptConnections(limits('20000'))).toBe(10_000);
  });

  test('has a maximum, even without a limit on open files', () => {
    for (const text of [limits('1048576'), limits('unlimited'), ''])
      expect(keptConnections(text)).toBe(MAX_KEPT_CONNECTIONS);
  });
});
