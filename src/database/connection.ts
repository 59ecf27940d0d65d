import pg from 'pg';

const CONNECT_TIMEOUT_MILLISECONDS = 10_000;
/** Networks forget connections that send nothing for a few minutes, and an index can take longer than that. */
const KEEP_ALIVE_MILLISECONDS = 60_000;

/**
 * Runs work on its own connection, and then closes the connection.
 *
 * @throws the driver's error if the server can't be reached, or any error from the work
 */
export async function withConnection<T>(
  url: string,
  applicationName: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MILLISECONDS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MILLISECONDS,
  });
  // The statement that is running reports the error. Without a listener, this event would crash the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * The service can't start, because it can't use its database. The message is for operators, and contains no password.
 */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
  constructor(url: string, cause: Error) {
    super(`The database at DATABASE_URL (${placeOf(url)}) can't be used: ${reasonOf(cause)}.`, { cause });
  }
}

/** A URL's target, without the user name and password. */
export function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port || 5432}${pathname}`;
}

/** Why a connection failed. Some of the driver's errors have a code but no message. */
export function reasonOf({ message, code }: Error & { code?: string }): string {
  return message || code || 'unknown error';
}
