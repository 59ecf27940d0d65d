import { type Client, type Exchange, makeOperation, mapExchange, type Operation, type OperationResult } from 'urql';

/**
 * Holds back the result of each mutation until the queries that it made out of date have been answered again. When a
 * dialog closes after a change, the page behind it therefore shows the values that the dialog saved, and so does a form
 * that is opened from there. Goes in front of the cache, which decides which queries are out of date.
 */
export const reloadFirstExchange: Exchange = (input) => {
  const unanswered = new Map<number, Operation>();
  let answered = Promise.withResolvers<void>();

  function remove({ key }: Operation): void {
    if (!unanswered.delete(key)) return;
    answered.resolve();
    answered = Promise.withResolvers();
  }

  function note(operation: Operation): void {
    if (operation.kind === 'query') unanswered.set(operation.key, operation);
    if (operation.kind === 'teardown') remove(operation);
  }

  async function untilAnswered(): Promise<void> {
    const awaited = [...unanswered.values()];
    while (awaited.some((operation) => unanswered.get(operation.key) === operation)) await answered.promise;
  }

  async function holdBack(result: OperationResult): Promise<OperationResult> {
    // These may have read the values from before the change, and the client doesn't run a query twice at the same time.
    const early = [...unanswered.values()];
    // The client sends the queries that the cache has invalidated in a microtask.
    await Promise.resolve();
    await untilAnswered();
    for (const operation of early) repeat(input.client, operation);
    if (early.length > 0) await Promise.resolve();
    await untilAnswered();
    return result;
  }

  const exchange = mapExchange({
    onResult(result) {
      if (result.operation.kind === 'mutation') return result.error ? undefined : holdBack(result);
      // A stale result comes from the cache, and the response of the service follows.
      if (!result.stale) remove(result.operation);
      return undefined;
    },
  })(input);
  // `mapExchange` doesn't show its `onOperation` when a query is given up.
  return (operations) =>
    exchange((sink) =>
      operations((signal) => {
        if (signal !== 0 && signal.tag === 1) note(signal[0]);
        sink(signal);
      }),
    );
};

/** Sends a query again that is still shown. */
function repeat(client: Client, operation: Operation): void {
  client.reexecuteOperation(makeOperation('query', operation, { ...operation.context, requestPolicy: 'network-only' }));
}
