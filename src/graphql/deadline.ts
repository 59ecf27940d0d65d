import { type GraphQLSchema, isObjectType } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { beforeTimeIsUp, startOperation } from '../operation.ts';

const DEADLINE_MILLISECONDS = 10_000;

/** Gives every operation its deadline, those of the REST routes too. `stopAtDeadline` is what makes fields heed it. */
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
 * Makes the fields of a schema heed the deadline: once it has passed, none begins, and those that are being waited for
 * are errors. What a document had done before is answered, so that nobody has to guess it.
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
