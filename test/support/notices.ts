import pg from 'pg';
import { newId } from '../../src/ids.ts';

/** Inserts an open notice about a webhook into the database of a running service. @returns its ID. */
export async function createNotice(
  { databaseUrl }: { databaseUrl: string },
  { projectId, subjectId }: { projectId: string; subjectId: string },
): Promise<string> {
  const sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  const id = newId('Notice');
  try {
    await sql.query(
      `INSERT INTO "Notice" ("id", "projectId", "type", "subjectId", "subject") VALUES ($1, $2, 'destination.failing', $3, 'x')`,
      [id, projectId, subjectId],
    );
    return id;
  } finally {
    await sql.end();
  }
}
