import type { DocumentNode } from 'graphql';

/** A row in the REST table. */
export type RestRoute = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path with `:parameters`. Each is a variable in the document or a field in its input. */
  path: string;
  /** The operation's stable name in the OpenAPI document. */
  operationId: string;
  summary: string;
  document: DocumentNode;
  kind: 'one' | 'list' | 'all' | 'create' | 'update' | 'delete' | 'action';
  /** Field names that lead to the response in the document's result. */
  at: readonly string[];
  /** Fields in the mutation's input that come from the path: parameter → field. */
  fromPath?: Readonly<Record<string, string>>;
  /** Other fields in the payload that are shown only once, together with the resource. */
  once?: readonly string[];
  /** Query parameters (for lists, other than `limit` and `after`): name → its place in the variables. */
  query?: Readonly<Record<string, { to: readonly string[]; list: boolean; description: string }>>;
};

export const PROJECT = '/api/projects/:projectId';

/** For changes in a project. `id` is the resource to change, and `projectId` the project it must belong to. */
export const inProject = (parameter: string) => ({ projectId: 'projectId', [parameter]: 'id' });

/** Query parameters for every list of deliveries. */
export const DELIVERY_FILTER = {
  status: { to: ['filter', 'status'], list: true, description: 'Only deliveries with this status. Repeatable.' },
  eventType: {
    to: ['filter', 'eventTypes'],
    list: true,
    description: 'Only deliveries of this event type. Repeatable.',
  },
  since: { to: ['filter', 'since'], list: false, description: 'Only deliveries created at or after this time.' },
} as const;
