import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

const TEXT: RestRoute['query'] = {
  q: {
    to: ['query'],
    description:
      'An ID, a transaction hash, a wallet, a payment identifier, or part of an endpoint’s path, a destination’s host, ' +
      'or an API key’s name.',
  },
};

export const searchRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/search`,
    operationId: 'searchProject',
    summary: 'Search a project: up to 10 items of each type',
    document: documents.SearchProjectDocument,
    kind: 'all',
    at: ['search'],
    query: TEXT,
  },
  {
    method: 'GET',
    path: '/api/search',
    operationId: 'search',
    summary: 'Search all projects that you can see',
    document: documents.SearchDocument,
    kind: 'all',
    at: ['search'],
    query: TEXT,
  },
];
