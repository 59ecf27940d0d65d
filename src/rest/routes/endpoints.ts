import * as documents from '../../generated/rest-documents.ts';
import { inProject, PROJECT, type RestRoute } from './route.ts';

export const endpointRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/endpoints`,
    operationId: 'listEndpoints',
    summary: 'List a project’s endpoints',
    document: documents.ListEndpointsDocument,
    kind: 'list',
    at: ['project', 'endpoints'],
    query: {
      orderBy: { to: ['orderBy'], description: 'Sort order. Default: NEWEST.' },
    },
  },
  {
    method: 'POST',
    path: `${PROJECT}/endpoints`,
    operationId: 'createEndpoint',
    summary: 'Create an endpoint',
    document: documents.CreateEndpointDocument,
    kind: 'create',
    at: ['createEndpoint', 'endpoint'],
    fromPath: { projectId: 'projectId' },
  },
  {
    method: 'GET',
    path: `${PROJECT}/endpoints/:endpointId`,
    operationId: 'getEndpoint',
    summary: 'Get an endpoint',
    document: documents.GetEndpointDocument,
    kind: 'one',
    at: ['project', 'endpoint'],
  },
  {
    method: 'PATCH',
    path: `${PROJECT}/endpoints/:endpointId`,
    operationId: 'updateEndpoint',
    summary: 'Update an endpoint',
    document: documents.UpdateEndpointDocument,
    kind: 'update',
    at: ['updateEndpoint', 'endpoint'],
    fromPath: inProject('endpointId'),
  },
  {
    method: 'DELETE',
    path: `${PROJECT}/endpoints/:endpointId`,
    operationId: 'deleteEndpoint',
    summary: 'Delete an endpoint',
    document: documents.DeleteEndpointDocument,
    kind: 'delete',
    at: [],
    fromPath: inProject('endpointId'),
  },
];
