import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';

const CHANGED = statement(
  'delivery-changed-destinations',
  `
  SELECT asked.id FROM unnest($1::text[], $2::float8[]) AS asked(id, since)
  WHERE EXISTS (SELECT FROM "Webhook" w WHERE w."id" = asked.id AND w."updatedAt" > to_timestamp(asked.since / 1000))
    OR EXISTS (SELECT FROM "Connector" c WHERE c."id" = asked.id AND c."updatedAt" > to_timestamp(asked.since / 1000))`,
);

/**
 * The IDs of the webhooks and connectors that have been changed since a time, for example, by their owner.
 *
 * @param destinations each with a time in milliseconds since 1970, by the database's clock.
 */
export async function findChanged(db: Queryable, destinations: ReadonlyMap<string, number>): Promise<string[]> {
  const { rows } = await runStatement<{ id: string }>(
    db,
    CHANGED([...destinations.keys()], [...destinations.values()]),
  );
  return rows.map(({ id }) => id);
}
