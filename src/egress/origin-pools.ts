import { Dispatcher, errors, type Pool } from 'undici';
import { OriginPool } from './origin-pool.ts';

type Connect = NonNullable<Pool.Options['connect']>;

/**
 * A dispatcher with one keep-alive pool per origin. Unlike undici's Agent, it never rejects an origin because there are
 * already too many. It closes idle pools to make room, and removes a pool when its last connection closes.
 */
export class OriginPools extends Dispatcher {
  /** By connector, owner, and origin. */
  readonly #pools = new Map<string, OriginPool>();
  readonly #poolOptions: Pool.Options;
  readonly #maxConnections: number;
  #openCount = 0;
  #isClosed = false;
  #connectorCount = 0;

  /**
   * @param maxConnections the number of connections to keep open, across all origins. When there are more, the least
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
    return this.#dispatchTo(`0  ${options.origin}`, this.#poolOptions, options, handler);
  }

  /**
   * Returns this dispatcher for each owner, by default with the connections of `dispatch`'s connector. Each owner has
   * its own connections, so no owner can use up another's connections to an origin. They all count toward the same
   * maximum. Each other connector also has its own connections, so that no request uses a connection that its own
   * connector would have refused to open.
   */
  owned(connect?: Connect): (owner: string) => Dispatcher {
    const connector = connect ? ++this.#connectorCount : 0;
    const poolOptions = connect ? { ...this.#poolOptions, connect } : this.#poolOptions;
    return (owner) =>
      this.compose(
        () => (options, handler) =>
          this.#dispatchTo(`${connector} ${owner} ${options.origin}`, poolOptions, options, handler),
      );
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

  #dispatchTo(
    key: string,
    poolOptions: Pool.Options,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (this.#isClosed) throw new errors.ClientClosedError();
    const known = this.#pools.get(key);
    // A known pool is removed and added again, which keeps the map ordered by last use.
    if (known) this.#pools.delete(key);
    const pool = known ?? this.#createPool(key, String(options.origin), poolOptions);
    this.#pools.set(key, pool);
    return pool.dispatch(options, handler);
  }

  #createPool(key: string, origin: string, poolOptions: Pool.Options): OriginPool {
    const pool = new OriginPool(origin, {
      pool: poolOptions,
      onOpened: () => {
        this.#openCount++;
        if (this.#openCount > this.#maxConnections) this.#closeOldestIdle();
      },
      onClosed: () => {
        this.#openCount--;
      },
      onUnused: () => this.#forget(key, pool),
    });
    return pool;
  }

  #closeOldestIdle(): void {
    for (const [key, pool] of this.#pools) {
      if (!pool.isIdle) continue;
      this.#forget(key, pool);
      return;
    }
  }

  #forget(key: string, pool: OriginPool): void {
    // A pool's last connections may still be closing after the pool was forgotten.
    if (this.#pools.get(key) !== pool) return;
    this.#pools.delete(key);
    void pool.close();
  }
}
