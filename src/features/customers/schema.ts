import { inVisibleProject } from '../../auth/access.ts';
import type { Customer as CustomerModel } from '../../generated/prisma/client.ts';
import { formatUsd } from '../../money.ts';
import { builder } from '../../schema/builder.ts';
import { relationsOfNodes, resolvePage, resolveSlice } from '../../schema/connections.ts';
import { CUSTOMER_STATISTIC_COST } from '../../schema/cost.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { totalCountField } from '../../schema/total-count.ts';
import { atomicOf } from '../payments/payload.ts';
import { Payment, PaymentConnection, PaymentFilter } from '../payments/schema.ts';
import { Project } from '../projects/schema.ts';
import { customerCursor, parseCustomerCursor } from './cursor.ts';
import type { CustomerService } from './service.ts';
import { customerFilterInput } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    customers: CustomerService;
  }
}

const Customer = builder.prismaNode('Customer', {
  description: 'A wallet that has paid a project.',
  id: { field: 'id', description: 'Identifier, `cus_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the customer paid.' }),
    walletAddress: t.exposeString('walletAddress', { description: 'The wallet, EIP-55 checksummed.' }),
    paymentCount: t.exposeInt('paymentCount', { description: 'The number of settled payments.' }),
    totalUsd: t.string({
      description: 'Settled revenue in USD, as a decimal string.',
      resolve: ({ totalAtomic }) => formatUsd(atomicOf(totalAtomic)),
    }),
    totalAtomic: t.string({
      description: 'Settled revenue in millionths of a dollar.',
      resolve: ({ totalAtomic }) => totalAtomic.toFixed(0),
    }),
    firstPaymentAt: t.expose('firstPaymentAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the first payment was settled, or null if no payment has been settled.',
    }),
    lastPaymentAt: t.expose('lastPaymentAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the last payment was settled.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'When the customer’s first payment was verified.',
    }),
    payments: t.connection(
      {
        type: Payment,
        description: 'The customer’s payments.',
        args: { filter: t.arg({ type: PaymentFilter, description: 'Filters the payments.' }) },
        resolve: ({ id: customerId, projectId }, { filter, ...args }, context, info) =>
          resolvePage('Payment', args, { context, info }, (query) =>
            context.services.payments.list(context.viewer, projectId, { ...filter, customerId }, query),
          ),
      },
      PaymentConnection,
    ),
  }),
});

const CustomerConnection = builder.connectionObject(
  { name: 'CustomerConnection', type: Customer, description: 'A page of customers.', fields: totalCountField },
  { name: 'CustomerEdge', description: 'A customer and its cursor.' },
);

const CustomerOrderEnum = builder.enumType('CustomerOrder', {
  description: 'How customers are sorted.',
  values: {
    LAST_PAYMENT: { value: 'LAST_PAYMENT', description: 'Most recent payment first.' },
    FIRST_PAYMENT: { value: 'FIRST_PAYMENT', description: 'By date of the first payment, newest first.' },
    TOTAL: { value: 'TOTAL', description: 'Highest spend first.' },
    CREATED: { value: 'CREATED', description: 'Newest customer first. Payments don’t change this order.' },
  } as const,
});

const CustomerFilter = builder.inputType('CustomerFilter', {
  description: 'Filters customers. All conditions must match.',
  extensions: checkedBy(customerFilterInput),
  fields: (t) => ({
    walletAddress: t.string({ description: 'Only the customer with this wallet.' }),
    minTotalUsd: t.string({ description: 'Only customers who spent at least this amount in USD, for example, "100".' }),
    from: t.field({ type: 'DateTime', description: 'Only customers whose last payment was at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only customers whose last payment was before this time.' }),
  }),
});

const CustomerTotals = builder.simpleObject('CustomerTotals', {
  description: 'Totals for a set of customers.',
  fields: (t) => ({
    customerCount: t.int({ description: 'Exact number of customers, even above 10,000.' }),
    paymentCount: t.int({ description: 'Number of settled payments.' }),
    totalUsd: t.string({ description: 'Total spend in USD, as a decimal string.' }),
    totalAtomic: t.string({ description: 'Total spend in millionths of a dollar.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  customer: t.prismaField({
    type: Customer,
    nullable: true,
    description: 'A customer of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `cus_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.customers.find(viewer, id, project.id, query),
  }),
  customers: t.connection(
    {
      type: Customer,
      description: 'The project’s customers: wallets with a settled payment.',
      args: {
        orderBy: t.arg({
          type: CustomerOrderEnum,
          required: true,
          defaultValue: 'LAST_PAYMENT',
          description: 'How to sort the customers.',
        }),
        filter: t.arg({ type: CustomerFilter, description: 'Filters the customers.' }),
        walletAddress: t.arg.string({ description: 'Former name of `filter.walletAddress`. Use that instead.' }),
      },
      resolve: (project, { orderBy, filter: given, walletAddress, ...args }, context, info) => {
        const filter = { ...(walletAddress && { walletAddress }), ...given };
        return resolveSlice(
          args,
          {
            isCursor: (cursor) => parseCustomerCursor(orderBy, cursor) !== undefined,
            cursorOf: (customer: CustomerModel) => customerCursor(orderBy, customer),
          },
          (slice) =>
            context.services.customers.list(
              context.viewer,
              project.id,
              { orderBy, filter },
              { ...slice, relations: relationsOfNodes({ context, info }) },
            ),
          () => context.services.customers.count(context.viewer, project.id, filter),
        );
      },
    },
    CustomerConnection,
  ),
  customerTotals: t.field({
    type: CustomerTotals,
    complexity: { field: CUSTOMER_STATISTIC_COST, multiplier: 1 },
    description: 'Totals for the project’s customers.',
    args: { filter: t.arg({ type: CustomerFilter, description: 'Filters the customers.' }) },
    resolve: async (project, { filter }, { services, viewer }) => {
      const { totalAtomic, ...counts } = await services.customers.totals(viewer, project.id, filter ?? {});
      return { ...counts, totalUsd: formatUsd(totalAtomic), totalAtomic: totalAtomic.toString() };
    },
  }),
}));

builder.prismaObjectField(Payment, 'customer', (t) =>
  t.relation('customer', { nullable: true, description: 'The customer who paid; null until the payment is verified.' }),
);
