import * as documents from '../../generated/rest-documents.ts';
import type { RestRoute } from './route.ts';

const USERS = '/api/operator/users';

export const operatorRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: USERS,
    operationId: 'listUsers',
    summary: 'List users; for operators only',
    description: 'All users. For operators only: everyone else gets a 404.',
    document: documents.ListUsersDocument,
    kind: 'list',
    at: ['operatorUsers'],
  },
  {
    method: 'GET',
    path: `${USERS}/:userId`,
    operationId: 'getUser',
    summary: 'Get a user and the number of resources in their account; for operators only',
    description: 'A user’s account. For operators only: everyone else gets a 404.',
    document: documents.GetUserDocument,
    kind: 'one',
    at: ['operatorUser'],
  },
  {
    method: 'PATCH',
    path: `${USERS}/:userId`,
    operationId: 'updateUser',
    summary: 'Set a user’s tier and rate limit; for operators only',
    document: documents.UpdateUserDocument,
    kind: 'update',
    at: ['updateUser', 'user'],
    fromPath: { userId: 'id' },
  },
  {
    method: 'POST',
    path: `${USERS}/:userId/block`,
    operationId: 'blockUser',
    summary: 'Block an account, effective immediately; for operators only',
    document: documents.BlockUserDocument,
    kind: 'action',
    at: ['blockUser', 'user'],
    fromPath: { userId: 'id' },
  },
  {
    method: 'POST',
    path: `${USERS}/:userId/unblock`,
    operationId: 'unblockUser',
    summary: 'Unblock an account; for operators only',
    document: documents.UnblockUserDocument,
    kind: 'action',
    at: ['unblockUser', 'user'],
    fromPath: { userId: 'id' },
  },
];
