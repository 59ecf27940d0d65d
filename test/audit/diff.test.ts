import { expect, test } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/audit/actions.ts';
import { changesBetween, keptValues } from '../../src/audit/diff.ts';

test.each(AUDIT_ACTIONS)('nothing of %s is kept that is not named as to be kept', (action) => {
  const values = { secret: 's', previousSecret: 's', key: 'k', hash: 'h', secretConfig: 'c', memory: {}, newField: 1 };
  expect(keptValues(action, values)).toEqual({});
});

test('URLs are kept masked, and what was left out is left out', () => {
  expect(keptValues('webhook.deleted', { url: 'https://example.com/in?a=1', description: undefined })).toEqual({
    url: 'https://example.com/in?a=••••',
  });
});

test('a new resource has all that is set as changes, a changed one what differs', () => {
  expect(changesBetween(undefined, { name: 'Shop', gatewayHost: null })).toEqual({ changes: { name: 'Shop' } });
  const before = { name: 'Shop', gatewayHost: 'a.example', eventTypes: ['*'] };
  expect(changesBetween(before, { name: 'Shop', gatewayHost: null, eventTypes: ['*'] })).toEqual({
    changes: { gatewayHost: null },
    previous: { gatewayHost: 'a.example' },
  });
});
