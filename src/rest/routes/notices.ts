import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const noticeRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/notices`,
    operationId: 'listNotices',
    summary: 'List what a project’s owner should know',
    document: documents.ListNoticesDocument,
    kind: 'list',
    at: ['project', 'notices'],
    query: {
      isRead: { to: ['filter', 'isRead'], list: false, description: 'Only read or only unread notices.' },
      isOpen: {
        to: ['filter', 'isOpen'],
        list: false,
        description: 'Only notices about problems that continue, or only about those that are over.',
      },
    },
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
    summary: 'Mark notices as read: those listed, or all',
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
