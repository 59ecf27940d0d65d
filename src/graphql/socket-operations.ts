import { AppError } from '../errors.ts';

const MAX_OPERATIONS_PER_SOCKET = 20;
/** Refusing an operation takes time, too, and a client can send tens of thousands before it has read the first refusal. */
const MAX_REFUSED_PER_SOCKET = 100;

/** An operation of a socket, from its message until it has ended. */
export type SocketOperation = {
  /** Counts the operation as ended. */
  end(): void;
  /** Ends the operation when its results do, or when its socket closes. */
  endWith<Item>(results: AsyncIterableIterator<Item>): AsyncIterableIterator<Item>;
};

export type SocketOperations = {
  /** @throws AppError `RATE_LIMITED` if the socket has too many operations. */
  start(): SocketOperation;
  /** Ends the results of every operation. */
  close(): void;
};

/**
 * Counts the operations of one socket. The protocol's own list has one operation for each ID: if a client completes an
 * operation that is still starting and uses its ID again, the list no longer contains the first one, which still runs.
 */
export function createSocketOperations(on: {
  /** Called when too many operations have been refused. */
  flood(): void;
  error(error: unknown): void;
}): SocketOperations {
  let refused = 0;
  const running = new Set<SocketOperation>();
  const stops = new Map<SocketOperation, () => Promise<unknown> | undefined>();

  return {
    start() {
      if (running.size >= MAX_OPERATIONS_PER_SOCKET) {
        refused += 1;
        if (refused === MAX_REFUSED_PER_SOCKET) on.flood();
        throw new AppError('RATE_LIMITED', {
          detail: `A socket can run at most ${MAX_OPERATIONS_PER_SOCKET} operations at the same time.`,
        });
      }
      const operation: SocketOperation = {
        end() {
          running.delete(operation);
          stops.delete(operation);
        },
        endWith(results) {
          stops.set(operation, () => results.return?.());
          const last = async <Result extends IteratorResult<unknown>>(step: Promise<Result>) => {
            try {
              const result = await step;
              if (result.done) operation.end();
              return result;
            } catch (error) {
              operation.end();
              throw error;
            }
          };
          return {
            next: () => last(results.next()),
            return: () => last(results.return?.() ?? Promise.resolve({ done: true, value: undefined })),
            [Symbol.asyncIterator]() {
              return this;
            },
          };
        },
      };
      running.add(operation);
      return operation;
    },
    close() {
      for (const stop of [...stops.values()]) stop()?.catch(on.error);
    },
  };
}
