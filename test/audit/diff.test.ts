import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/audit/actions.ts';
import { changesBetween, keptValues } from '../../src/audit/diff.ts';

test.each(AUDIT_ACTIONS)('%s keeps only values that it lists explicitly', (action) => {
  const values = { secret: 's', previousSecret: 's', key: 'k', hash: 'h', secretConfig: 'c', memory: {}, newField: 1 };
  expect(keptValues(action, { changes: values, previous: values })).toEqual({ changes: {}, previous: {} });
});

test('URLs are masked, and undefined values are left out', () => {
  const changes = { url: 'https://example.com/in?a=1', description: undefined };
  expect(keptValues('webhook.deleted', { changes })).toEqual({ changes: { url: 'https://example.com/in?a=••••' } });
});

const hashOf = (value: unknown) => {
  const json = JSON.stringify(value);
  return { bytes: Buffer.byteLength(json), sha256: createHash('sha256').update(json).digest('hex') };
};

test('a value over 512 bytes is replaced with its size and hash', () => {
  const previous = { name: 'é'.repeat(255), description: 'x'.repeat(510) };
  const changes = { name: 'é'.repeat(256), description: 'x'.repeat(511) };
  expect(keptValues('webhook.updated', { changes, previous })).toEqual({
    changes: { name: hashOf(changes.name), description: hashOf(changes.description) },
    previous,
  });
});

test('the largest values are replaced first, only until an entry has at most 4 KB of them', () => {
  const names = ['name', 'description', 'eventTypes', 'filter', 'headers', 'authentication', 'retrySchedule'];
  const side = (more: number) =>
    Object.fromEntries(names.map((name, index) => [name, 'x'.repeat(300 + 20 * index + more)]));
  const { changes, previous } = keptValues('webhook.updated', { changes: side(0), previous: side(1) });
  const values = [...Object.values(changes), ...Object.values(previous!)];
  const kept = values.filter((value) => typeof value === 'string').map((value) => value.length + 2);
  const replaced = values
    .filter((value) => typeof value === 'object')
    .map((value) => (value as { bytes: number }).bytes);
  const total = values.reduce<number>((sum, value) => sum + JSON.stringify(value).length, 0);
  expect(kept.length + replaced.length).toBe(2 * names.length);
  expect(Math.min(...replaced)).toBeGreaterThan(Math.max(...kept));
  expect(total).toBeLessThanOrEqual(4_096);
  expect(total + Math.min(...replaced)).toBeGreaterThan(4_096);
});

test('for a new resource, every value counts as a change; for an existing one, only values that differ do', () => {
  expect(changesBetween(undefined, { name: 'Shop', gatewayHost: null })).toEqual({ changes: { name: 'Shop' } });
  const before = { name: 'Shop', gatewayHost: 'a.example', eventTypes: ['*'] };
  expect(changesBetween(before, { name: 'Shop', gatewayHost: null, eventTypes: ['*'] })).toEqual({
    changes: { gatewayHost: null },
    previous: { gatewayHost: 'a.example' },
  });
});
