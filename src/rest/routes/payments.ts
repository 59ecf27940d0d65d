import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const paymentRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/payments`,
    operationId: 'listPayments',
    summary: 'List payments for a project’s endpoints',
    document: documents.ListPaymentsDocument,
    kind: 'list',
    at: ['project', 'payments'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/payments/:paymentId`,
    operationId: 'getPayment',
    summary: 'Get a payment',
    document: documents.GetPaymentDocument,
    kind: 'one',
    at: ['project', 'payment'],
  },
];
