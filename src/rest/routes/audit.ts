import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

const FILTER = {
  action: { to: ['filter', 'actions'], list: true, description: 'Only this action. Repeatable.' },
  targetId: { to: ['filter', 'targetId'], list: false, description: 'Only changes to the resource with this ID.' },
} as const;

export const auditRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/audit-log`,
    operationId: 'listProjectAuditLog',
    summary: 'List entries in a project’s audit log',
    document: documents.ListProjectAuditLogDocument,
    kind: 'list',
    at: ['project', 'auditLog'],
    query: FILTER,
  },
  {
    method: 'GET',
    path: `${PROJECT}/audit-log/:auditEntryId`,
    operationId: 'getAuditEntry',
    summary: 'Get an entry from a project’s audit log',
    document: documents.GetAuditEntryDocument,
    kind: 'one',
    at: ['project', 'auditEntry'],
  },
  {
    method: 'GET',
    path: '/api/audit-log',
    operationId: 'listAuditLog',
    summary: 'List audit log entries for all projects in the account',
    document: documents.ListAuditLogDocument,
    kind: 'list',
    at: ['viewer', 'auditLog'],
    query: FILTER,
  },
];
