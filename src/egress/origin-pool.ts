import { Client, type Dispatcher, Pool } from 'undici';
import { resendOnce } from './resend-once.ts';
import { dispatchAbortable } from './waiting-request.ts';

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
  /** Each of these sends a single request, for the second time. */
  readonly #resending = new Set<Client>();
  #openCount = 0;

  constructor(origin: string, options: Options) {
    this.#origin = origin;
    this.#options = options;
    this.#first = this.#openClient();
  }

  /** Whether no request is waiting or in progress. */
  get isIdle(): boolean {
    const clients = [this.#first, this.#others, ...this.#resending];
    return clients.every((client) => !client || client.stats.size === 0);
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const resend = (again: Dispatcher.DispatchHandler) => this.#dispatchAlone(options, again);
    return dispatchAbortable(this.#next(), options, resendOnce(options, handler, resend));
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#others?.close()]);
    // Requests that failed in the meantime may have been sent again.
    await Promise.all([...this.#resending].map((client) => client.close()));
  }

  async destroy(): Promise<void> {
    const clients = [this.#first, this.#others, ...this.#resending];
    await Promise.all(clients.map((client) => client?.destroy()));
  }

  #openClient(): Client {
    const { connections: _, ...options } = this.#options.pool;
    return this.#watched(new Client(this.#origin, options));
  }

  /**
   * Sends a request on its own connection, which is then closed. It replaces the connection on which the request
   * failed. The other connections aren't used, because they may have been idle for just as long.
   */
  #dispatchAlone(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const client = this.#openClient();
    this.#resending.add(client);
    client.dispatch(options, handler);
    client.close(() => this.#resending.delete(client));
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
