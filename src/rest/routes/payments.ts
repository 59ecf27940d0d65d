import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

const PAYMENT_FILTER = {
  status: { to: ['filter', 'status'], list: true, description: 'Only payments in this state; may be repeated.' },
  endpointId: { to: ['filter', 'endpointId'], list: false, description: 'Only for this endpoint.' },
  customerId: { to: ['filter', 'customerId'], list: false, description: 'Only of this customer.' },
  payer: { to: ['filter', 'payer'], list: false, description: 'Only of this wallet, verified or not.' },
  transactionHash: { to: ['filter', 'transactionHash'], list: false, description: 'Only settled by this transaction.' },
  from: { to: ['filter', 'from'], list: false, description: 'Only payments presented at or after this time.' },
  to: { to: ['filter', 'to'], list: false, description: 'Only payments presented before this time.' },
} as const;

export const paymentRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/payments`,
    operationId: 'listPayments',
    summary: 'Payments for the endpoints of the project',
    document: documents.ListPaymentsDocument,
    kind: 'list',
    at: ['project', 'payments'],
    query: PAYMENT_FILTER,
  },
  {
    method: 'GET',
    path: `${PROJECT}/payments/:paymentId`,
    operationId: 'getPayment',
    summary: 'One payment',
    document: documents.GetPaymentDocument,
    kind: 'one',
    at: ['project', 'payment'],
  },
];
