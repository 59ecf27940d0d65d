import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const projectRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: '/api/projects',
    operationId: 'listProjects',
    summary: 'List your projects',
    document: documents.ListProjectsDocument,
    kind: 'list',
    at: ['projects'],
  },
  {
    method: 'POST',
    path: '/api/projects',
    operationId: 'createProject',
    summary: 'Create a project',
    document: documents.CreateProjectDocument,
    kind: 'create',
    at: ['createProject', 'project'],
  },
  {
    method: 'GET',
    path: PROJECT,
    operationId: 'getProject',
    summary: 'Get a project',
    document: documents.GetProjectDocument,
    kind: 'one',
    at: ['project'],
  },
  {
    method: 'PATCH',
    path: PROJECT,
    operationId: 'updateProject',
    summary: 'Update a project',
    document: documents.UpdateProjectDocument,
    kind: 'update',
    at: ['updateProject', 'project'],
    fromPath: { projectId: 'id' },
  },
  {
    method: 'DELETE',
    path: PROJECT,
    operationId: 'deleteProject',
    summary: 'Delete a project and everything in it',
    document: documents.DeleteProjectDocument,
    kind: 'delete',
    at: [],
    fromPath: { projectId: 'id' },
  },
];
