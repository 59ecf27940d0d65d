import type { DocumentNode } from 'graphql';
import type { IdType } from '../../ids.ts';
import type { Deprecation } from '../deprecation.ts';

/** A row in the REST table. */
export type RestRoute = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path with `:parameters`. Each is a variable in the document or a field in its input. */
  path: string;
  /** The operation's stable name in the OpenAPI document. */
  operationId: string;
  summary: string;
  /** The operation's description in the OpenAPI document. Default: the one that its field has in GraphQL. */
  description?: string;
  document: DocumentNode;
  /** Set this if the operation will be removed; see docs/versioning.md. */
  deprecated?: Deprecation;
  kind: 'one' | 'list' | 'all' | 'create' | 'update' | 'delete' | 'action' | 'export';
  /** The path to the response in the document's result, as field names. */
  at: readonly string[];
  /** The response's own schema, if the response is only a part of the type. */
  component?: { name: string; description: string };
  /** Fields in the mutation's input that come from the path: parameter → field. */
  fromPath?: Readonly<Record<string, string>>;
  /** Fields in the mutation's input that REST leaves out because another field has the same meaning. */
  graphqlOnly?: readonly string[];
  /** Fields that the body must have, although the mutation's input doesn't require them. */
  requires?: readonly string[];
  /** Whether the body must have one of several fields, which the mutation's input can't express. */
  needsOneOf?: true;
  /** Other fields in the payload that are returned with the resource but can't be read later. */
  once?: readonly string[];
  /** Whether the resource contains a secret that only people whose role allows the request can read. */
  isSecret?: true;
  /**
   * Query parameters in addition to the ones for paging and the fields of the document's `$filter`: name → its
   * variable.
   */
  query?: Readonly<Record<string, { to: readonly string[]; description: string }>>;
  /** Whether the body has a connector's `config`, whose fields depend on the connector type. */
  hasConnectorConfig?: boolean;
  /** For exports: whether the rows are read in pages, with the variables of `exportDocument`. */
  isPaged?: boolean;
  /** For paged exports: the type of the rows, and how the list's cursor is made from a row's ID. */
  resume?: { type: IdType; cursorOf: (id: string) => string };
  /** For exports: variables that the request doesn't set. */
  fixed?: Readonly<Record<string, unknown>>;
  /** Whether the body may contain a file in `document`. The file doesn't count toward the usual limit. */
  takesFile?: boolean;
};

export const PROJECT = '/api/projects/:projectId';

/** For changes in a project. `id` is the resource to change, and `projectId` is the project that contains it. */
export const inProject = (parameter: string) => ({ projectId: 'projectId', [parameter]: 'id' });

/** Whether a request without a body is the same as one with an empty object. */
export const mayOmitBody = ({ kind }: Pick<RestRoute, 'kind'>) => kind === 'action' || kind === 'delete';
