import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const importRoutes: readonly RestRoute[] = [
  {
    method: 'POST',
    path: `${PROJECT}/endpoints/import/preview`,
    operationId: 'previewImport',
    summary: 'Compare an OpenAPI document with a project’s endpoints',
    document: documents.PreviewImportDocument,
    kind: 'action',
    at: ['previewImport'],
    fromPath: { projectId: 'projectId' },
    needsOneOf: true,
    takesFile: true,
  },
  {
    method: 'POST',
    path: `${PROJECT}/endpoints/import`,
    operationId: 'importEndpoints',
    summary: 'Create and update endpoints from an OpenAPI document',
    document: documents.ImportEndpointsDocument,
    kind: 'action',
    at: ['importEndpoints'],
    fromPath: { projectId: 'projectId' },
    takesFile: true,
  },
];
