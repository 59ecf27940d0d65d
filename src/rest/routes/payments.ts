import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

const PAYMENT_FILTER = {
  status: { to: ['filter', 'status'], list: true, description: 'Only payments with this status. Repeatable.' },
  endpointId: { to: ['filter', 'endpointId'], list: false, description: 'Only payments for this endpoint.' },
  customerId: { to: ['filter', 'customerId'], list: false, description: 'Only payments by this customer.' },
  payer: { to: ['filter', 'payer'], list: false, description: 'Only payments from this wallet, verified or not.' },
  transactionHash: {
    to: ['filter', 'transactionHash'],
    list: false,
    description: 'Only payments settled by this transaction.',
  },
  from: { to: ['filter', 'from'], list: false, description: 'Only payments received at or after this time.' },
  to: { to: ['filter', 'to'], list: false, description: 'Only payments received before this time.' },
} as const;

export const paymentRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/payments`,
    operationId: 'listPayments',
    summary: 'List payments for a project’s endpoints',
    document: documents.ListPaymentsDocument,
    kind: 'list',
    at: ['project', 'payments'],
    query: PAYMENT_FILTER,
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
