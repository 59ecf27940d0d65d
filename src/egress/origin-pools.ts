import { Dispatcher, errors, type Pool } from 'undici';
import { OriginPool } from './origin-pool.ts';

/**
 * A dispatcher with one keep-alive pool per origin. Unlike undici's Agent, it never rejects an origin because there are
 * already too many. It closes idle pools to make room, and removes a pool when its last connection closes.
 */
export class OriginPools extends Dispatcher {
  readonly #pools = new Map<string, OriginPool>();
  readonly #poolOptions: Pool.Options;
  readonly #maxConnections: number;
  #openCount = 0;
  #isClosed = false;

  /**
   * @param maxConnections the number of connections to keep open, to all origins together. When there are more, the least
   *   recently used idle pool is closed. Busy ones stay open.
   */
  constructor(poolOptions: Pool.Options, maxConnections: number) {
    super();
    this.#poolOptions = poolOptions;
    this.#maxConnections = maxConnections;
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

  #takeAll(): OriginPool[] {
    this.#isClosed = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    return pools;
  }

  #poolOf(origin: string): OriginPool {
    const known = this.#pools.get(origin);
    // A known pool is removed and added again, which keeps the map ordered by last use.
    if (known) this.#pools.delete(origin);
    const pool = known ?? this.#createPool(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  #createPool(origin: string): OriginPool {
    const pool = new OriginPool(origin, {
      pool: this.#poolOptions,
      onOpened: () => {
        this.#openCount++;
        if (this.#openCount > this.#maxConnections) this.#closeOldestIdle();
      },
      onClosed: () => {
        this.#openCount--;
      },
      onUnused: () => this.#forget(origin, pool),
    });
    return pool;
  }

  #closeOldestIdle(): void {
    for (const [origin, pool] of this.#pools) {
      if (!pool.isIdle) continue;
      this.#forget(origin, pool);
      return;
    }
  }

  #forget(origin: string, pool: OriginPool): void {
    // A pool's last connections may still be closing after the pool was forgotten.
    if (this.#pools.get(origin) !== pool) return;
    this.#pools.delete(origin);
    void pool.close();
  }
}
