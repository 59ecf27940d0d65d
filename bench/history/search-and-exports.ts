import { print } from 'graphql';
import type pg from 'pg';
import { exportRoutes } from '../../src/rest/routes/exports.ts';
import type { Ask, Question } from './questions.ts';

/** How long the statements of a search may take. */
export const MAX_SEARCH_MILLISECONDS = 20;
export const isSearch = (name: string) => name.startsWith('search ');

/** What people paste into the search, in one project and in all of them. */
export async function searchQuestions(pool: pg.Pool, projectId: string, ask: Ask, as: string): Promise<Question[]> {
  const { rows } = await pool.query<Record<'id' | 'transactionHash' | 'customerId' | 'payer' | 'endpointId', string>>(
    `SELECT p."id", "transactionHash", "customerId", c."walletAddress" AS "payer", "endpointId"
     FROM "Payment" p JOIN "Customer" c ON c."id" = p."customerId"
     WHERE p."projectId" = $1 AND "transactionHash" IS NOT NULL AND c."walletAddress" ~ '^0x[0-9]+$'
     ORDER BY p."id" DESC OFFSET 1000 LIMIT 1`,
    [projectId],
  );
  const oldest = async (table: string) =>
    (await pool.query(`SELECT "id" FROM "${table}" WHERE "projectId" = $1 ORDER BY "id" LIMIT 1`, [projectId])).rows[0]
      .id;
  const payment = rows[0]!;
  const texts = {
    'a payment’s ID': payment.id,
    'a customer’s ID': payment.customerId,
    'the ID of an old delivery': await oldest('Delivery'),
    'the ID of an old event': await oldest('Event'),
    'the ID of an old audit log entry': await oldest('AuditEntry'),
    'a transaction hash': payment.transactionHash,
    'a transaction hash that doesn’t exist': `0x${'ab'.repeat(32)}`,
    'a wallet': payment.payer,
    'a wallet that doesn’t exist': `0x${'cd'.repeat(20)}`,
    'part of a name': 'receiver',
    'text that nothing contains': 'nowhere',
  };
  const where = { 'in one project': { projectId }, 'in all projects': {} };
  return Object.entries(texts).flatMap(([what, query]) =>
    Object.entries(where).map(([place, arguments_]) => ({
      name: `search for ${what} ${place}${as}`,
      run: () =>
        ask(
          'query ($query: String!, $projectId: ID) { search(query: $query, projectId: $projectId) { itemId label } }',
          {
            query,
            ...arguments_,
          },
        ),
    })),
  );
}

/** The pages that each export reads: the bound, the first one, and one in the middle. */
export async function exportQuestions(pool: pg.Pool, projectId: string, ask: Ask): Promise<Question[]> {
  const questions: Question[] = [];
  for (const { path, document, isPaged, resume, fixed } of exportRoutes) {
    const name = `export of ${path.split('/').at(-2)}`;
    const run = (variables: object) => () => ask(print(document), { projectId, ...fixed, ...variables });
    if (!isPaged || !resume) {
      questions.push({ name, run: run({}) });
      continue;
    }
    const { rows } = await pool.query<{ id: string }>(
      `SELECT "id" FROM "${resume.type}" WHERE "projectId" = $1 ORDER BY "id" OFFSET 50000 LIMIT 1`,
      [projectId],
    );
    const middle = rows[0] ? { before: resume.cursorOf(rows[0].id) } : {};
    questions.push(
      { name: `${name}: the newest row`, run: run({ first: 1 }) },
      { name: `${name}: the first page`, run: run({ last: 100 }) },
      { name: `${name}: a page in the middle`, run: run({ last: 100, ...middle }) },
    );
  }
  return questions;
}
