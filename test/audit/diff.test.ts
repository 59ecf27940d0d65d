import { expect, test } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/audit/actions.ts';
import { changesBetween, keptValues } from '../../src/audit/diff.ts';

test.each(AUDIT_ACTIONS)('%s keeps only values that it lists explicitly', (action) => {
  const values = { secret: 's', previousSecret: 's', key: 'k', hash: 'h', secretConfig: 'c', memory: {}, newField: 1 };
  expect(keptValues(action, values)).toEqual({});
});

test('URLs are masked, and undefined values are left out', () => {
  expect(keptValues('webhook.deleted', { url: 'https://example.com/in?a=1', description: undefined })).toEqual({
    url: 'https://example.com/in?a=••••',
  });
});

test('for a new resource, every value counts as a change; for an existing one, only values that differ do', () => {
  expect(changesBetween(undefined, { name: 'Shop', gatewayHost: null })).toEqual({ changes: { name: 'Shop' } });
  const before = { name: 'Shop', gatewayHost: 'a.example', eventTypes: ['*'] };
  expect(changesBetween(before, { name: 'Shop', gatewayHost: null, eventTypes: ['*'] })).toEqual({
    changes: { gatewayHost: null },
    previous: { gatewayHost: 'a.example' },
  });
});
