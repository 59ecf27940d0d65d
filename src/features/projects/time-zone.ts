import { z } from 'zod';
import type { Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { invalidField } from '../../errors.ts';
import { isTimeZone } from '../../time-zone.ts';

const MESSAGE = 'Must be the name of a time zone, for example, "Europe/Vienna" or "UTC".';

/** Longer than any name of a time zone. */
export const timeZoneInput = z.string().max(64).refine(isTimeZone, MESSAGE);

const FIND_TIME_ZONE = preparedStatement(
  'time-zone',
  'SELECT "name" FROM pg_timezone_names WHERE lower("name") = lower($1)',
);

/**
 * A time zone's name as PostgreSQL spells it. Node and PostgreSQL ignore its case.
 *
 * @throws AppError `VALIDATION_FAILED` if PostgreSQL doesn't know it.
 */
export async function knownTimeZone(db: Queryable, name: string): Promise<string> {
  const { rows } = await runStatement(db, FIND_TIME_ZONE(name));
  const found = rows[0]?.name;
  if (!found) throw invalidField('/timeZone', MESSAGE);
  return found;
}
