import type { DocumentNode } from 'graphql';

/** A row of the table. */
export type RestRoute = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with `:parameters`; each is a variable of the document or a field of its input. */
  path: string;
  /** Stable name of the operation in the OpenAPI document. */
  operationId: string;
  summary: string;
  document: DocumentNode;
  kind: 'one' | 'list' | 'all' | 'create' | 'update' | 'delete' | 'action';
  /** Where the answer is in the result of the document, by field names. */
  at: readonly string[];
  /** Fields of the mutation's input that come from the path: parameter → field. */
  fromPath?: Readonly<Record<string, string>>;
  /** Fields of the payload beside the resource that are shown once with it. */
  once?: readonly string[];
  /** Query parameters, of lists beside `limit` and `after`: name → where it goes in the variables. */
  query?: Readonly<Record<string, { to: readonly string[]; list: boolean; description: string }>>;
};

export const PROJECT = '/api/projects/:projectId';

/** The inputs of changes under a project name what they change `id`, and the project it must belong to. */
export const inProject = (parameter: string) => ({ projectId: 'projectId', [parameter]: 'id' });

/** Query parameters of every list of deliveries. */
export const DELIVERY_FILTER = {
  status: { to: ['filter', 'status'], list: true, description: 'Only deliveries in this state; may be repeated.' },
  eventType: { to: ['filter', 'eventTypes'], list: true, description: 'Only of events of this kind; may be repeated.' },
  since: { to: ['filter', 'since'], list: false, description: 'Only deliveries created at or after this time.' },
} as const;
