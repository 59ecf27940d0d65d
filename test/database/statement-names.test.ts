import { expect, test } from 'vitest';
import { boundedStatementNames } from '../../src/database/statement-names.ts';

const lookUp = (count: number) => ({
  sql: `SELECT 1 FROM "Project" WHERE "id" IN (${Array(count).fill('$1').join(',')})`,
});

test('a statement always gets the same name, and no other statement does', () => {
  const nameOf = boundedStatementNames();
  expect(nameOf(lookUp(1))).toMatch(/^prisma_/);
  expect(nameOf(lookUp(1))).toBe(nameOf(lookUp(1)));
  expect(nameOf(lookUp(2))).not.toBe(nameOf(lookUp(1)));
});

test('a statement with a long list has no name, so that no connection keeps it', () => {
  const nameOf = boundedStatementNames();
  expect(nameOf(lookUp(5_000))).toBe('');
});

test('at most 500 statements have names', () => {
  const nameOf = boundedStatementNames();
  const names = Array.from({ length: 600 }, (_, index) => nameOf(lookUp(index + 1)));
  expect(names.filter((name) => name !== '')).toHaveLength(500);
});
