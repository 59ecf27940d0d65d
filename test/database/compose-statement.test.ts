import { expect, test } from 'vitest';
import { composeText } from '../../src/database/compose-statement.ts';

test("each step's parameters are numbered after the parameters of the earlier steps", () => {
  const one = 'INSERT INTO "A" VALUES ($1, $2) RETURNING *';
  const ten = 'INSERT INTO "B" VALUES ($2, $10, $1, $1)';
  const last = 'DELETE FROM "C" WHERE "id" = $1';
  expect(composeText({ one, ten, last }, 'SELECT * FROM one')).toBe(
    'WITH one AS (INSERT INTO "A" VALUES ($1, $2) RETURNING *), ten AS (INSERT INTO "B" VALUES ($4, $12, $3, $3)), ' +
      'last AS (DELETE FROM "C" WHERE "id" = $13) SELECT * FROM one',
  );
});
