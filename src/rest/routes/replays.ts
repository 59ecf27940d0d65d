import * as documents from '../../generated/rest-documents.ts';
import { inProject, PROJECT, type RestRoute } from './route.ts';

export const replayRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/replays`,
    operationId: 'listReplays',
    summary: 'List a project’s replays',
    document: documents.ListReplaysDocument,
    kind: 'list',
    at: ['project', 'replays'],
  },
  {
    method: 'POST',
    path: `${PROJECT}/replays`,
    operationId: 'createReplay',
    summary: 'Resend all deliveries that match a filter, or count them',
    document: documents.CreateReplayDocument,
    kind: 'action',
    at: ['createReplay'],
    fromPath: { projectId: 'projectId' },
    needsOneOf: true,
  },
  {
    method: 'GET',
    path: `${PROJECT}/replays/:replayId`,
    operationId: 'getReplay',
    summary: 'Get a replay and its progress',
    document: documents.GetReplayDocument,
    kind: 'one',
    at: ['project', 'replay'],
  },
  {
    method: 'POST',
    path: `${PROJECT}/replays/:replayId/cancel`,
    operationId: 'cancelReplay',
    summary: 'Cancel a replay',
    document: documents.CancelReplayDocument,
    kind: 'action',
    at: ['cancelReplay', 'replay'],
    fromPath: inProject('replayId'),
  },
];
