import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const eventRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/events`,
    operationId: 'listEvents',
    summary: 'List a project’s events',
    document: documents.ListEventsDocument,
    kind: 'list',
    at: ['project', 'events'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/events/:eventId`,
    operationId: 'getEvent',
    summary: 'Get an event',
    document: documents.GetEventDocument,
    kind: 'one',
    at: ['project', 'event'],
  },
  {
    method: 'POST',
    path: `${PROJECT}/events/test`,
    operationId: 'recordTestEvent',
    summary: 'Record a test event without sending it to webhooks or connectors',
    document: documents.RecordTestEventDocument,
    kind: 'action',
    at: ['recordTestEvent', 'event'],
    fromPath: { projectId: 'projectId' },
  },
  {
    method: 'POST',
    path: `${PROJECT}/events/test-filter`,
    operationId: 'testEventFilter',
    summary: 'Test which events a filter matches',
    document: documents.TestEventFilterDocument,
    kind: 'action',
    at: ['testEventFilter'],
    fromPath: { projectId: 'projectId' },
  },
];
