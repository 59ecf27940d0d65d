import type { DocumentNode } from 'graphql';

/** A row of the REST table. */
export type RestRoute = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with `:parameters`. Each is a variable of the document or a field of its input. */
  path: string;
  /** Stable name of the operation in the OpenAPI document. */
  operationId: string;
  summary: string;
  document: DocumentNode;
  kind: 'one' | 'list' | 'all' | 'create' | 'update' | 'delete' | 'action';
  /** Field names that lead to the response in the document's result. */
  at: readonly string[];
  /** Fields of the mutation's input that come from the path: parameter → field. */
  fromPath?: Readonly<Record<string, string>>;
  /** Other fields of the payload, shown once together with the resource. */
  once?: readonly string[];
  /** Query parameters, in lists besides `limit` and `after`: name → its place in the variables. */
  query?: Readonly<Record<string, { to: readonly string[]; list: boolean; description: string }>>;
};

export const PROJECT = '/api/projects/:projectId';

/** For changes in a project: `id` is the changed resource, and `projectId` the project it must belong to. */
export const inProject = (parameter: string) => ({ projectId: 'projectId', [parameter]: 'id' });

/** Query parameters of all lists of deliveries. */
export const DELIVERY_FILTER = {
  status: { to: ['filter', 'status'], list: true, description: 'Only deliveries with this status. Repeatable.' },
  eventType: {
    to: ['filter', 'eventTypes'],
    list: true,
    description: 'Only deliveries of this event type. Repeatable.',
  },
  since: { to: ['filter', 'since'], list: false, description: 'Only deliveries created at or after this time.' },
} as const;
