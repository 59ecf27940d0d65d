import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildSchema, type GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { actionText, actorOf, changesOf, resourceName, resourcePath } from '../../src/console/parts/audit-entry.ts';

test('the audit log shows users by name, API keys with a badge, and operators without a name', () => {
  expect(actorOf({ actorKind: 'USER', actorName: 'alice' })).toEqual({ name: 'alice', badge: undefined });
  expect(actorOf({ actorKind: 'API_KEY', actorName: 'CI' })).toEqual({ name: 'CI', badge: 'API key' });
  expect(actorOf({ actorKind: 'OPERATOR', actorName: 'operator' })).toEqual({
    name: 'An operator',
    badge: 'Runs this server',
  });
});

test('the audit log shows each changed field with a label, and its previous value if the log has it', () => {
  const previous = { priceUsd: '0.01', description: null, isActive: true };
  const changes = { priceUsd: '0.02', description: 'Weather', isActive: false };
  expect(changesOf({ changes, previous })).toEqual([
    { label: 'Price (USD)', before: '$0.01', after: '$0.02' },
    { label: 'Description', before: 'none', after: 'Weather' },
    { label: 'Enabled', before: 'yes', after: 'no' },
  ]);
  const call = { tool: 'list_payments', arguments: { status: ['FAILED'] } };
  expect(changesOf({ changes: call, previous: null })).toEqual([
    { label: 'Tool', after: 'list_payments' },
    { label: 'Arguments', after: 'status: Failed' },
  ]);
  expect(changesOf({ changes: {}, previous: null })).toEqual([]);
});

test('the audit log shows only the fields that were set for a new resource, and those that were cleared in a changed one', () => {
  const created = {
    upstreamUrl: 'https://api.example',
    tags: [],
    description: null,
    timeoutSeconds: 30,
    settlement: 'AFTER_RESPONSE',
    methods: ['GET', 'HEAD'],
  };
  expect(changesOf({ changes: created, previous: null })).toEqual([
    { label: 'Upstream URL', after: 'https://api.example' },
    { label: 'Timeout (seconds)', after: '30' },
    { label: 'Settlement', after: 'After response' },
    { label: 'Methods', after: 'GET, HEAD' },
  ]);
  const emptied = { changes: { milestonesUsd: [] }, previous: { milestonesUsd: ['1', '10'] } };
  expect(changesOf(emptied)).toEqual([{ label: 'Customer milestones (USD)', before: '$1.00, $10.00', after: 'none' }]);
});

test('the audit log shows the size and the start of the hash of a large value, and does not use it as a name', () => {
  const url = { bytes: 2_022, sha256: `01234567${'a'.repeat(56)}` };
  const entry = { changes: { url }, previous: { url: 'https://hooks.example' } };
  const after = '2,022 bytes (SHA-256 01234567…)';
  expect(changesOf(entry)).toEqual([{ label: 'URL', before: 'https://hooks.example', after }]);
  expect(resourceName({ changes: { name: url, url: 'https://a.example' }, previous: null })).toBe('https://a.example');
});

test('the audit log describes each action in words', () => {
  const schema = buildSchema(readFileSync(resolve(import.meta.dirname, '../../schema.graphql'), 'utf8'));
  const actions = (schema.getType('AuditAction') as GraphQLEnumType).getValues().map(({ name }) => actionText(name));
  for (const text of actions) expect(text).toMatch(/^(?:[A-Z][a-z]+|API|MCP)( [a-z]+)+$/);
  expect(actions).toContain('API key created');
});

test('the audit log names a resource and links to it, unless it was deleted', () => {
  const changes = { path: '/weather', priceUsd: '0.01' };
  expect(resourceName({ changes, previous: null })).toBe('/weather');
  expect(resourceName({ changes: { isActive: false }, previous: { isActive: true } })).toBeUndefined();
  expect(resourcePath({ action: 'ENDPOINT_UPDATED', targetId: 'ep_1' })).toBe('/endpoints/ep_1');
  expect(resourcePath({ action: 'CONTACTS_UPDATED', targetId: 'proj_1' })).toBe('/notices');
  expect(resourcePath({ action: 'ENDPOINT_DELETED', targetId: 'ep_1' })).toBeUndefined();
  expect(resourcePath({ action: 'USER_BLOCKED', targetId: 'x_1' })).toBeUndefined();
});
