import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { arrayLiteral } from '../../src/database/array-literal.ts';

let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
});
afterAll(() => client?.end());

async function readBack(type: string, values: readonly (string | number | null | undefined)[]): Promise<unknown[]> {
  const { rows } = await client.query<{ value: unknown[] }>(`SELECT $1::${type}[] AS value`, [arrayLiteral(values)]);
  return rows[0]!.value;
}

test.each([
  [[]],
  [['']],
  [['NULL', null, 'null', undefined]],
  [['a,b', '{x}', ' space ', '"quoted"', 'back\\slash', '\\', '"', 'line\nbreak', "it's", '💧']],
])('PostgreSQL reads %j unchanged', async (values) => {
  expect(await readBack('text', values)).toEqual(values.map((value) => value ?? null));
});

test('PostgreSQL reads any array of text values unchanged', async () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', ',', '{', '}', ' ', "'", '\n', 'N', 'ü', '💧') });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text)), async (values) => {
      expect(await readBack('text', values)).toEqual(values);
    }),
  );
});

test('PostgreSQL reads any array of numbers unchanged', async () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(number)), async (values) => {
      expect(await readBack('float8', values)).toEqual(values);
    }),
  );
  expect(await readBack('int', [1, -2, null, 2_147_483_647])).toEqual([1, -2, null, 2_147_483_647]);
});
