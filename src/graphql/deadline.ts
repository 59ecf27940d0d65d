import { type GraphQLSchema, isObjectType } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { beforeTimeIsUp, startOperation } from '../operation.ts';

const DEADLINE_MILLISECONDS = 10_000;

/** Gives every operation a deadline, including those of REST routes. `stopAtDeadline` makes fields obey it. */
export function deadlinePlugin(): Plugin {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args) => {
        const operation = startOperation(DEADLINE_MILLISECONDS);
        try {
          return await operation.run(() => executeFn(args));
        } finally {
          operation.end();
        }
      });
    },
  };
}

/**
 * Makes a schema's fields obey the deadline. After the deadline, no field starts, and unfinished fields become errors.
 * The response still contains everything that was done before, so callers don't have to guess.
 */
export function stopAtDeadline(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__') || type === schema.getSubscriptionType()) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve } = field;
      if (resolve) field.resolve = (...args) => beforeTimeIsUp(() => resolve(...args));
    }
  }
  return schema;
}
