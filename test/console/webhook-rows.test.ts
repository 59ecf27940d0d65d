import { expect, test } from 'vitest';
import { destinationsOf, webhookName } from '../../src/console/parts/destinations.ts';
import { previousSecretEnd } from '../../src/console/parts/previous-secret.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

test.each([
  [null, undefined],
  ['2025-12-31T23:59:59Z', undefined],
  ['2026-01-01T00:00:01Z', '2026-01-01T00:00:01Z'],
])('if the previous secret expires at %s, it is shown to work until %s', (expiresAt, end) => {
  expect(previousSecretEnd(expiresAt, NOW)).toBe(end);
});

test('a webhook is shown by its name or URL, and a connector by its name or the name of its service', () => {
  const url = 'https://hooks.example.com/in';
  expect(webhookName({ name: 'Books', url })).toBe('Books');
  expect(webhookName({ name: null, url })).toBe('hooks.example.com/in');
  const connectors = [
    { id: 'con_1', name: 'Sales', type: 'SLACK' as const },
    { id: 'con_2', name: null, type: 'BIGQUERY' as const },
  ];
  const connectorTypes = [
    { type: 'SLACK' as const, title: 'Slack' },
    { type: 'BIGQUERY' as const, title: 'BigQuery' },
  ];
  const project = { id: '', webhooks: { nodes: [] }, connectors: { nodes: connectors } };
  const names = destinationsOf({ connectorTypes, project }).map(({ name }) => name);
  expect(names).toEqual(['Sales', 'BigQuery']);
});
