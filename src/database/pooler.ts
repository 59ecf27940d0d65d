import type pg from 'pg';
import { requireMember } from '../library-member.ts';
import { placeOf, reasonOf, withConnection } from './connection.ts';
import { IDENTITY } from './identity.ts';
import { SESSION_SETTINGS } from './session-settings.ts';

/**
 * The service can't use a pooler as currently configured. `setting` is the variable to check, and `advice` says how to
 * fix it.
 */
export class PoolerSettingsError extends Error {
  override readonly name = 'PoolerSettingsError';
  readonly setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL';
  readonly problem: string;
  readonly advice: string;
  constructor(setting: PoolerSettingsError['setting'], problem: string, advice: string, options?: ErrorOptions) {
    super(`${problem} ${advice}`, options);
    this.setting = setting;
    this.problem = problem;
    this.advice = advice;
  }
}

/**
 * Makes a client work with a pooler in transaction mode, where the next statement may run in another session. That
 * session doesn't know the names of earlier statements. With older poolers, it may have a different statement under the
 * same name.
 */
export function forgetNames(client: pg.ClientBase): void {
  requireMember('pg 8.23.1', client, 'query');
  const unnamed = (statement: unknown, ...rest: unknown[]) =>
    // Looked up with every call, so that what observes queries may start later.
    Reflect.apply(Object.getPrototypeOf(client).query, client, [
      isNamed(statement) ? { ...statement, name: undefined } : statement,
      ...rest,
    ]);
  Object.assign(client, { query: unnamed });
}

const isNamed = (statement: unknown): statement is { name: string } =>
  typeof statement === 'object' && statement !== null && 'name' in statement;

/**
 * Checks that a pooler's sessions have our settings by default. The service can't set them, because a setting stays
 * with one of the pooler's sessions, no matter who uses that session next.
 *
 * @throws PoolerSettingsError if a time zone other than UTC would make times wrong, or if a timeout is missing
 */
export async function requireSessionDefaults(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string; value: string }>(
    'SELECT "name", "reset_val" AS "value" FROM pg_settings WHERE "name" = ANY($1)',
    [Object.keys(SESSION_SETTINGS)],
  );
  const missing = rows.filter(({ name, value }) => (name === 'TimeZone' ? !IS_UTC.test(value) : value === '0'));
  if (missing.length === 0) return;
  const [place] = (
    await pool.query<{ user: string; database: string }>(
      `SELECT quote_ident(current_user) AS "user", quote_ident(current_database()) AS "database"`,
    )
  ).rows;
  const found = missing.map(({ name, value }) => `${name} is ${value}`).join(', ');
  throw new PoolerSettingsError(
    'DATABASE_URL',
    `Sessions from the pooler at DATABASE_URL do not have the required settings. Currently, ${found}.`,
    `Run ${defaultsFor(place!.user, place!.database).join(' ')} and then restart the pooler.`,
  );
}

/**
 * Checks that both URLs point to the same database and name the same user. Otherwise, deliveries could be read from one
 * database and their results written to another.
 *
 * @throws PoolerSettingsError if they don't, or if the direct URL is unreachable or points to a standby.
 */
export async function requireSameDatabase(pool: pg.Pool, directUrl: string, applicationName: string): Promise<void> {
  const read = `SELECT ${IDENTITY} AS "identity", current_user AS "user", pg_is_in_recovery() AS "isStandby"`;
  const failure = (problem: string, options?: ErrorOptions) =>
    new PoolerSettingsError(
      'DATABASE_DIRECT_URL',
      problem,
      'Set it to the URL of the primary server that the pooler uses, with the same database and user.',
      options,
    );
  const [pooled] = (await pool.query(read)).rows;
  const [direct] = await withConnection(
    directUrl,
    applicationName,
    async (client) => (await client.query(read)).rows,
  ).catch((error: Error) => {
    throw failure(`DATABASE_DIRECT_URL (${placeOf(directUrl)}) can't be used: ${reasonOf(error)}.`, { cause: error });
  });
  if (direct.isStandby) throw failure('DATABASE_DIRECT_URL points to a read-only standby.');
  if (pooled.identity !== direct.identity || pooled.user !== direct.user)
    throw failure('DATABASE_DIRECT_URL has a different server, database, or user than DATABASE_URL.');
}

const IS_UTC = /^(Etc\/)?(UTC|GMT)$/;

/** The statements that make our settings the defaults for a user's new sessions in a database. */
export function defaultsFor(user: string, database: string): string[] {
  return Object.entries(SESSION_SETTINGS).map(
    ([name, value]) => `ALTER ROLE ${user} IN DATABASE ${database} SET ${name} = '${value}';`,
  );
}
