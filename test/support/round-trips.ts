import pg from 'pg';

/**
 * Counts the round trips on this process's database connections that have a given name. Statements sent while a
 * result is still pending share a round trip.
 */
export async function countRoundTrips(applicationName: string, run: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const awaited = new WeakMap<pg.Client, number>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: Parameters<typeof query>) {
    const { connectionParameters } = this as unknown as { connectionParameters: { application_name: string } };
    const result = query.apply(this, args) as unknown as Promise<unknown>;
    if (connectionParameters.application_name !== applicationName) return result;
    const others = awaited.get(this) ?? 0;
    if (others === 0) count++;
    awaited.set(this, others + 1);
    const end = () => void awaited.set(this, awaited.get(this)! - 1);
    result.then(end, end);
    return result;
  } as typeof query;
  try {
    await run();
  } finally {
    pg.Client.prototype.query = query;
  }
  return count;
}
