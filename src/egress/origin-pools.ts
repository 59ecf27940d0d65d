import { Dispatcher, errors, Pool } from 'undici';

/**
 * A dispatcher with one keep-alive pool per origin. Unlike undici's Agent, it never rejects an origin because there are
 * already too many. It closes idle pools to make room, and removes a pool when its last connection closes.
 */
export class OriginPools extends Dispatcher {
  readonly #pools = new Map<string, Pool>();
  readonly #poolOptions: Pool.Options;
  readonly #maxOrigins: number;
  #isClosed = false;

  /** @param maxOrigins the number of pools to keep. Beyond that, the least recently used idle pool is closed. */
  constructor(poolOptions: Pool.Options, maxOrigins: number) {
    super();
    this.#poolOptions = poolOptions;
    this.#maxOrigins = maxOrigins;
  }

  /** The current number of pools. */
  get originCount(): number {
    return this.#pools.size;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (this.#isClosed) throw new errors.ClientClosedError();
    return this.#poolOf(String(options.origin)).dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all(this.#takeAll().map((pool) => pool.close()));
  }

  override async destroy(): Promise<void> {
    await Promise.all(this.#takeAll().map((pool) => pool.destroy()));
  }

  #takeAll(): Pool[] {
    this.#isClosed = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    return pools;
  }

  #poolOf(origin: string): Pool {
    const known = this.#pools.get(origin);
    // A known pool is removed and added again, which keeps the map ordered by last use.
    if (known) this.#pools.delete(origin);
    else if (this.#pools.size >= this.#maxOrigins) this.#closeOldestIdle();
    const pool = known ?? this.#openPool(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  #openPool(origin: string): Pool {
    const pool = new Pool(origin, this.#poolOptions);
    const forgetIfUnused = () => {
      if (pool.stats.connected === 0 && pool.stats.size === 0) this.#forget(origin, pool);
    };
    pool.on('disconnect', forgetIfUnused);
    pool.on('connectionError', forgetIfUnused);
    return pool;
  }

  #closeOldestIdle(): void {
    for (const [origin, pool] of this.#pools) {
      if (pool.stats.size > 0) continue;
      this.#forget(origin, pool);
      return;
    }
  }

  #forget(origin: string, pool: Pool): void {
    if (this.#pools.get(origin) === pool) this.#pools.delete(origin);
    if (!pool.closed && !pool.destroyed) void pool.close();
  }
}
