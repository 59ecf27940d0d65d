import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildSchema, type GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/audit/actions.ts';
import {
  formatAuditAction,
  formatEnum,
  formatEventType,
  formatTime,
  formatTimesIn,
} from '../../src/console/parts/format.ts';
import { EVENT_TYPES } from '../../src/events/types.ts';

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, '../../schema.graphql'), 'utf8'));
const namesOf = (type: string) => (schema.getType(type) as GraphQLEnumType).getValues().map(({ name }) => name);

test('the console formats audit actions and event types the way REST does', () => {
  expect(namesOf('AuditAction').map(formatAuditAction).sort()).toEqual([...AUDIT_ACTIONS].sort());
  expect(namesOf('EventType').map(formatEventType).sort()).toEqual([...EVENT_TYPES].sort());
});

test('the console writes enum values as words, and abbreviations in uppercase', () => {
  expect(['AFTER_RESPONSE', 'HTTP', 'CRM'].map(formatEnum)).toEqual(['After response', 'HTTP', 'CRM']);
});

test('the console shows times in the API’s messages the way people write them', () => {
  const time = '2026-11-26T11:44:37.375Z';
  expect(formatTimesIn(`It will be retried at ${time}.`)).toBe(`It will be retried at ${formatTime(time)}.`);
});
