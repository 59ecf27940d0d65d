import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const auditRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/audit-log`,
    operationId: 'listProjectAuditLog',
    summary: 'List entries in a project’s audit log',
    document: documents.ListProjectAuditLogDocument,
    kind: 'list',
    at: ['project', 'auditLog'],
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
    method: 'POST',
    path: `${PROJECT}/audit-log/tool-calls`,
    operationId: 'recordToolCall',
    summary: 'Record a program’s call to a tool',
    document: documents.RecordToolCallDocument,
    kind: 'action',
    at: ['recordToolCall'],
    fromPath: { projectId: 'projectId' },
  },
  {
    method: 'GET',
    path: '/api/audit-log',
    operationId: 'listAuditLog',
    summary: 'List audit log entries for all projects in the account',
    document: documents.ListAuditLogDocument,
    kind: 'list',
    at: ['viewer', 'auditLog'],
  },
  {
    method: 'GET',
    path: '/api/audit-log/account',
    operationId: 'listAccountLog',
    summary: 'List audit log entries about the account itself',
    document: documents.ListAccountLogDocument,
    kind: 'list',
    at: ['viewer', 'accountLog'],
  },
];
