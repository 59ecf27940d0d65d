import { Client, type Dispatcher, Pool } from 'undici';

type Options = {
  pool: Pool.Options;
  onOpened(): void;
  onClosed(): void;
  /** Called when no connections or requests are left. */
  onUnused(): void;
};

/**
 * The connections to one origin. Most origins need a single connection, so the first one is a client on its own. A pool
 * takes four times as much memory as a client, so it is created only when a request arrives while the client is busy.
 */
export class OriginPool {
  readonly #origin: string;
  readonly #options: Options;
  readonly #first: Client;
  #others: Pool | undefined;
  #openCount = 0;

  constructor(origin: string, options: Options) {
    this.#origin = origin;
    this.#options = options;
    const { connections: _, ...client } = options.pool;
    this.#first = this.#watched(new Client(origin, client));
  }

  /** Whether no request is waiting or in progress. */
  get isIdle(): boolean {
    return this.#first.stats.size === 0 && (this.#others?.stats.size ?? 0) === 0;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#next().dispatch(options, handler);
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#others?.close()]);
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#first.destroy(), this.#others?.destroy()]);
  }

  #next(): Dispatcher {
    const { connections } = this.#options.pool;
    if (connections === 1 || this.#first.stats.size === 0) return this.#first;
    const limit = connections ? { connections: connections - 1 } : {};
    this.#others ??= this.#watched(new Pool(this.#origin, { ...this.#options.pool, ...limit }));
    return this.#others;
  }

  #watched<T extends Dispatcher>(dispatcher: T): T {
    const { onOpened, onClosed, onUnused } = this.#options;
    const check = () => {
      if (this.#openCount === 0 && this.isIdle) onUnused();
    };
    dispatcher.on('connect', () => {
      this.#openCount++;
      onOpened();
    });
    dispatcher.on('disconnect', () => {
      this.#openCount--;
      onClosed();
      check();
    });
    dispatcher.on('connectionError', check);
    return dispatcher;
  }
}
