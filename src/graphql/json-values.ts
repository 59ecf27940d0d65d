import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
} from 'graphql';

/** JSON that has a field called `then`, in an object without one. */
class WrappedJson {
  readonly value: object;

  constructor(value: object) {
    this.value = value;
  }

  toJSON(): object {
    return this.value;
  }
}

/**
 * Makes a schema's fields return any JSON. The executor takes every object with a field `then` for a promise, and fails,
 * although JSON can't contain functions. Sellers choose examples of responses, and receivers of webhooks choose the names
 * of their response headers, so one such value would keep whole lists from being read.
 */
export function allowAnyJson(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      if (getNamedType(field.type).name !== 'JSON') continue;
      const resolve: GraphQLFieldResolver<unknown, unknown> = field.resolve ?? defaultFieldResolver;
      field.resolve = (...args) => {
        const result = resolve(...args);
        return isPromise(result) ? result.then(wrapped) : wrapped(result);
      };
    }
  }
  return schema;
}

function wrapped(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'then' in value ? new WrappedJson(value) : value;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}
