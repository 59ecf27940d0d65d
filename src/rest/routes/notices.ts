import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const noticeRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/notices`,
    operationId: 'listNotices',
    summary: 'List a project’s notices',
    document: documents.ListNoticesDocument,
    kind: 'list',
    at: ['project', 'notices'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/notices/:noticeId`,
    operationId: 'getNotice',
    summary: 'Get a notice',
    document: documents.GetNoticeDocument,
    kind: 'one',
    at: ['project', 'notice'],
  },
  {
    method: 'POST',
    path: `${PROJECT}/notices/read`,
    operationId: 'markNoticesRead',
    summary: 'Mark the given notices, or all of them, as read',
    document: documents.MarkNoticesReadDocument,
    kind: 'action',
    at: ['markNoticesRead'],
    fromPath: { projectId: 'projectId' },
  },
  {
    method: 'GET',
    path: `${PROJECT}/contacts`,
    operationId: 'getContacts',
    summary: 'Get a project’s contacts',
    document: documents.GetContactsDocument,
    kind: 'one',
    at: ['project', 'contacts'],
  },
  {
    method: 'PATCH',
    path: `${PROJECT}/contacts`,
    operationId: 'updateContacts',
    summary: 'Update a project’s contacts; `webhookSecret` is shown only once',
    document: documents.UpdateContactsDocument,
    kind: 'update',
    at: ['updateContacts', 'contacts'],
    fromPath: { projectId: 'projectId' },
    once: ['webhookSecret'],
  },
];
