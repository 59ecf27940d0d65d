import { type GraphQLSchema, isObjectType } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Viewer } from '../auth/viewer.ts';
import { createConnectionShares } from '../limits/fair-queue.ts';
import { OPERATION_MILLISECONDS, startOperation, withinDeadline } from '../operation.ts';
import type { GraphQLContext } from '../schema/context.ts';

/** Runs the work of a caller's operation: a query, a mutation, or one item of a subscription. */
export type RunOperation = <T>(viewer: Viewer, work: () => T | Promise<T>) => Promise<T>;

/**
 * Gives every operation a deadline, including the operations of REST routes, and each account its share of the database
 * connections. `stopAtDeadline` makes fields obey the deadline.
 */
export function createOperationRunner(poolSize: number, milliseconds = OPERATION_MILLISECONDS): RunOperation {
  const shares = createConnectionShares(poolSize);
  return async (viewer, work) => {
    const schedule = <R>(job: () => Promise<R>) => shares.run(viewer.userId, job);
    const operation = startOperation(milliseconds, schedule);
    try {
      return await operation.run(work);
    } finally {
      operation.end();
    }
  };
}

export function deadlinePlugin(runOperation: RunOperation): Plugin {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn((args) => runOperation((args.contextValue as GraphQLContext).viewer, () => executeFn(args)));
    },
  };
}

/**
 * Makes a schema's fields obey the deadline. After the deadline, no more fields are resolved, and unfinished fields
 * become errors. The response still contains the results from before the deadline, so callers don't have to guess.
 */
export function stopAtDeadline(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__') || type === schema.getSubscriptionType()) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve } = field;
      if (resolve) field.resolve = (...args) => withinDeadline(() => resolve(...args));
    }
  }
  return schema;
}
