import { expect, test } from 'vitest';
import { composeStatement } from '../../src/database/compose-statement.ts';

test("each step's parameters are numbered after the parameters of the earlier steps", () => {
  const one = { text: 'INSERT INTO "A" VALUES ($1, $2) RETURNING *', values: ['a1', 'a2'] };
  const ten = {
    text: 'INSERT INTO "B" VALUES ($2, $10, $1, $1)',
    values: Array.from({ length: 10 }, (_, n) => `b${n}`),
  };
  const last = { text: 'DELETE FROM "C" WHERE "id" = $1', values: ['c1'] };
  expect(composeStatement('composed', { one, ten, last }, 'SELECT * FROM one')).toEqual({
    name: 'composed',
    text:
      'WITH one AS (INSERT INTO "A" VALUES ($1, $2) RETURNING *), ten AS (INSERT INTO "B" VALUES ($4, $12, $3, $3)), ' +
      'last AS (DELETE FROM "C" WHERE "id" = $13) SELECT * FROM one',
    values: [...one.values, ...ten.values, 'c1'],
  });
});

test('a name always stands for the same SQL', () => {
  const compose = (value: string) =>
    composeStatement('same', { step: { text: 'INSERT INTO "A" VALUES ($1)', values: [value] } }, 'SELECT');
  expect(compose('x').text).toBe(compose('y').text);
  expect(compose('y').values).toEqual(['y']);
});
