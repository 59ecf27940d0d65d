import * as documents from '../../generated/rest-documents.ts';
import { PROJECT, type RestRoute } from './route.ts';

export const customerRoutes: readonly RestRoute[] = [
  {
    method: 'GET',
    path: `${PROJECT}/customers`,
    operationId: 'listCustomers',
    summary: 'List a project’s customers: wallets with a settled payment',
    document: documents.ListCustomersDocument,
    kind: 'list',
    at: ['project', 'customers'],
    query: { orderBy: { to: ['orderBy'], description: 'Sort order. Default: LAST_PAYMENT.' } },
  },
  {
    method: 'GET',
    path: `${PROJECT}/customers/:customerId`,
    operationId: 'getCustomer',
    summary: 'Get a customer',
    document: documents.GetCustomerDocument,
    kind: 'one',
    at: ['project', 'customer'],
  },
  {
    method: 'GET',
    path: `${PROJECT}/customers/:customerId/payments`,
    operationId: 'listCustomerPayments',
    summary: 'List a customer’s payments',
    document: documents.ListCustomerPaymentsDocument,
    kind: 'list',
    at: ['project', 'customer', 'payments'],
  },
];
