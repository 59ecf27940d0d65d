import * as documents from '../../generated/rest-documents.ts';
import { inProject, PROJECT, type RestRoute } from './route.ts';

export const deliveryRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/deliveries`,
    operationId: 'listDeliveries',
    summary: 'List deliveries to all webhooks and connectors in a project',
    document: documents.ListDeliveriesDocument,
    kind: 'list',
    at: ['project', 'deliveries'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/deliveries/:deliveryId`,
    operationId: 'getDelivery',
    summary: 'Get a delivery with its attempts',
    document: documents.GetDeliveryDocument,
    kind: 'one',
    at: ['project', 'delivery'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/deliveries/:deliveryId/explain`,
    operationId: 'explainDelivery',
    summary: 'Explain a delivery’s current status and what happens next',
    description: 'The reason for the delivery’s current status, and what happens next.',
    document: documents.ExplainDeliveryDocument,
    kind: 'one',
    at: ['project', 'delivery', 'explanation'],
  },
  {
    method: 'POST',
    path: `${PROJECT}/deliveries/:deliveryId/resend`,
    operationId: 'resendDelivery',
    summary: 'Resend a delivery',
    document: documents.ResendDeliveryDocument,
    kind: 'action',
    at: ['resendDelivery', 'delivery'],
    fromPath: inProject('deliveryId'),
  },
];
