import * as documents from '../../generated/rest-documents.ts';
import { inProject, PROJECT, type RestRoute } from './route.ts';

export const apiKeyRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/keys`,
    operationId: 'listApiKeys',
    summary: 'List a project’s API keys',
    document: documents.ListApiKeysDocument,
    kind: 'list',
    at: ['project', 'apiKeys'],
  },
  {
    method: 'POST',
    path: `${PROJECT}/keys`,
    operationId: 'createApiKey',
    summary: 'Create an API key; `key` is shown only once',
    document: documents.CreateApiKeyDocument,
    kind: 'create',
    at: ['createApiKey', 'apiKey'],
    fromPath: { projectId: 'projectId' },
    once: ['key'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/keys/:keyId`,
    operationId: 'getApiKey',
    summary: 'Get an API key',
    document: documents.GetApiKeyDocument,
    kind: 'one',
    at: ['project', 'apiKey'],
  },
  {
    method: 'DELETE',
    path: `${PROJECT}/keys/:keyId`,
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key permanently, effective immediately',
    document: documents.RevokeApiKeyDocument,
    kind: 'delete',
    at: [],
    fromPath: inProject('keyId'),
  },
];
