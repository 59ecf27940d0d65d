import { z } from 'zod';
import type { Queryable } from '../../database/client.ts';
import { invalidField } from '../../errors.ts';
import { isTimeZone } from '../../time-zone.ts';

const MESSAGE = 'Must be the name of a time zone, for example, "Europe/Vienna" or "UTC".';

/** Longer than any name of a time zone. */
export const timeZoneInput = z.string().max(64).refine(isTimeZone, MESSAGE);

/**
 * A time zone's name as PostgreSQL spells it. Node and PostgreSQL ignore its case.
 *
 * @throws AppError `VALIDATION_FAILED` if PostgreSQL doesn't know it.
 */
export async function knownTimeZone(db: Queryable, name: string): Promise<string> {
  const { rows } = await db.query<{ name: string }>({
    name: 'time-zone',
    text: 'SELECT "name" FROM pg_timezone_names WHERE lower("name") = lower($1)',
    values: [name],
  });
  if (!rows[0]) throw invalidField('/timeZone', MESSAGE);
  return rows[0].name;
}
