import { z } from 'zod';
import { explainPayment } from '../explain-payment.ts';
import { id, paging, time } from '../inputs.ts';
import { defineTool, TO_READ_PAYMENTS } from '../tool.ts';
import { pageOf, showPage } from '../view.ts';
import { customerView, paymentView } from '../views.ts';

const statuses = z.array(z.enum(['CLAIMED', 'VERIFIED', 'SERVED', 'SETTLING', 'SETTLED', 'UNKNOWN', 'FAILED'])).max(7);
const period = {
  from: time.optional().describe('Start of the period, inclusive.'),
  to: time.optional().describe('End of the period, exclusive. Default: now.'),
};

const figures = { totalUsd: z.string(), paymentCount: z.number() };
const revenue = z.object({
  from: z.string(),
  to: z.string(),
  interval: z.string(),
  totals: z.object({ ...figures, failedCount: z.number(), customerCount: z.number() }),
  buckets: z.array(z.object({ start: z.string(), ...figures, failedCount: z.number() })),
  topEndpoints: z.array(z.object({ endpointId: z.string(), path: z.string(), ...figures })),
  topCustomers: z.array(z.object({ customerId: z.string(), walletAddress: z.string(), ...figures })),
});

export const paymentTools = [
  defineTool({
    name: 'list_payments',
    title: 'List payments',
    description: 'Lists payments for the project’s endpoints, newest first.',
    requires: TO_READ_PAYMENTS,
    effect: 'none',
    input: {
      ...paging,
      ...period,
      status: statuses.optional().describe('Only payments with one of these statuses.'),
      endpointId: id('ep').optional(),
      customerId: id('cus').optional(),
      payer: z.string().max(64).optional().describe('Only payments from this wallet.'),
      transactionHash: z.string().max(128).optional().describe('Only payments settled by this transaction.'),
    },
    output: pageOf(paymentView),
    run: (query, { tollgate }) => showPage(tollgate.payments.list(query), paymentView),
  }),
  defineTool({
    name: 'get_payment',
    title: 'Get a payment',
    description: 'Gets one payment.',
    requires: TO_READ_PAYMENTS,
    effect: 'none',
    input: { paymentId: id('pay') },
    output: paymentView.schema,
    run: async ({ paymentId }, { tollgate }) => paymentView.show(await tollgate.payments.get(paymentId)),
  }),
  defineTool({
    name: 'explain_payment',
    title: 'Explain a payment',
    description: 'Explains a payment’s status (for example, why it failed) and what to do about it.',
    requires: TO_READ_PAYMENTS,
    effect: 'none',
    input: { paymentId: id('pay') },
    output: z.object({ summary: z.string(), advice: z.string().nullable(), payment: paymentView.schema }),
    async run({ paymentId }, { tollgate }) {
      const payment = await tollgate.payments.get(paymentId);
      return { ...explainPayment(payment), payment: paymentView.show(payment) };
    },
  }),
  defineTool({
    name: 'list_customers',
    title: 'List customers',
    description: 'Lists the wallets that have paid the project.',
    requires: TO_READ_PAYMENTS,
    effect: 'none',
    input: {
      ...paging,
      orderBy: z.enum(['LAST_PAYMENT', 'TOTAL']).optional().describe('Default: LAST_PAYMENT.'),
      walletAddress: z.string().max(64).optional().describe('Only the customer with this wallet.'),
    },
    output: pageOf(customerView),
    run: (query, { tollgate }) => showPage(tollgate.customers.list(query), customerView),
  }),
  defineTool({
    name: 'get_customer',
    title: 'Get a customer',
    description: 'Gets one customer: the wallet, the number of payments, and the total.',
    requires: TO_READ_PAYMENTS,
    effect: 'none',
    input: { customerId: id('cus') },
    output: customerView.schema,
    run: async ({ customerId }, { tollgate }) => customerView.show(await tollgate.customers.get(customerId)),
  }),
  defineTool({
    name: 'get_revenue',
    title: 'Get revenue',
    description:
      'Gets revenue by UTC hour, or by day or month in the project’s time zone, with the top endpoints and customers.',
    requires: TO_READ_PAYMENTS,
    effect: 'none',
    input: { ...period, interval: z.enum(['HOUR', 'DAY', 'MONTH']).optional().describe('Default: DAY.') },
    output: revenue,
    run: async (query, { tollgate }) => revenue.parse(await tollgate.revenue.get(query)),
  }),
];
