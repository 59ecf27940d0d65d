import { type IncomingMessage, request } from 'node:http';
import type pg from 'pg';
import { firstIdAt } from '../../../src/ids.ts';
import type { TestUser } from '../../support/app.ts';

export type Download = { status: number; headers: Headers; text: string };

/** Downloads a whole export. */
export async function download(app: { url: string }, user: Pick<TestUser, 'token'>, path: string): Promise<Download> {
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${user.token}` } });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The rows of a download in JSON Lines. Every line must end. */
export function linesOf({ text }: Pick<Download, 'text'>): Record<string, unknown>[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new Error('The last line is incomplete');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Opens a download without reading it. It uses no agent, so it doesn't share its connection. */
export function openDownload(
  app: { url: string },
  user: Pick<TestUser, 'token'>,
  path: string,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(app.url + path, { agent: false, headers: { authorization: `Bearer ${user.token}` } }, resolve)
    .on('error', reject)
    .end();
  return promise;
}

/** Reads the rest of a download in JSON Lines. Rejects if it is cut off. */
export async function readRest(response: IncomingMessage): Promise<Record<string, unknown>[]> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return linesOf({ text });
}

/**
 * Inserts events of 3 KB each, more than a connection's buffers can hold. Their IDs count up from `at`.
 *
 * @returns the IDs, oldest first
 */
export async function insertEvents(
  sql: Pick<pg.Pool, 'query'>,
  { projectId, count, at = Date.now() - 3_600_000 }: { projectId: string; count: number; at?: number },
): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(
    `INSERT INTO "Event" ("id", "projectId", "type", "data")
     SELECT $2 || lpad(step::text, 16, '0'), $1, 'endpoint.created', json_build_object('description', repeat('d', 3000))
     FROM generate_series(1, $3) AS step RETURNING "id"`,
    [projectId, firstIdAt('Event', at).slice(0, 14), count],
  );
  return rows.map(({ id }) => id).sort();
}
