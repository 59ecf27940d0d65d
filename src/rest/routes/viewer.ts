import * as documents from '../../generated/rest-documents.ts';
import type { RestRoute } from './route.ts';

export const viewerRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: '/api/me',
    operationId: 'getMe',
    summary: 'Get the user or API key that made the request, and the account’s limits',
    document: documents.GetMeDocument,
    kind: 'one',
    at: ['viewer'],
  },
];
