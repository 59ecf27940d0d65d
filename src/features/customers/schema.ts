import { inVisibleProject } from '../../auth/access.ts';
import type { Customer as CustomerModel } from '../../generated/prisma/client.ts';
import { formatUsd } from '../../money.ts';
import { builder } from '../../schema/builder.ts';
import { relationsOfNodes, resolvePage, resolveSlice } from '../../schema/connections.ts';
import { atomicOf } from '../payments/payload.ts';
import { Payment, PaymentConnection } from '../payments/schema.ts';
import { Project } from '../projects/schema.ts';
import { customerCursor, parseCustomerCursor } from './cursor.ts';
import type { CustomerService } from './service.ts';

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
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
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
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its first payment was verified.' }),
    payments: t.connection(
      {
        type: Payment,
        description: 'The customer’s payments.',
        resolve: (customer, args, context, info) =>
          resolvePage('Payment', args, { context, info }, (query) =>
            context.services.payments.list(context.viewer, customer.projectId, { customerId: customer.id }, query),
          ),
      },
      PaymentConnection,
    ),
  }),
});

const CustomerConnection = builder.connectionObject(
  { name: 'CustomerConnection', type: Customer, description: 'A page of customers.' },
  { name: 'CustomerEdge', description: 'A customer and its cursor.' },
);

const CustomerOrderEnum = builder.enumType('CustomerOrder', {
  description: 'How customers are sorted.',
  values: {
    LAST_PAYMENT: { value: 'LAST_PAYMENT', description: 'Most recent payment first.' },
    TOTAL: { value: 'TOTAL', description: 'Highest spend first.' },
  } as const,
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
        walletAddress: t.arg.string({ description: 'Only this wallet.' }),
      },
      resolve: (project, { orderBy, walletAddress, ...args }, context, info) =>
        resolveSlice(
          args,
          {
            isCursor: (cursor) => parseCustomerCursor(orderBy, cursor) !== undefined,
            cursorOf: (customer: CustomerModel) => customerCursor(orderBy, customer),
          },
          (slice) =>
            context.services.customers.list(
              context.viewer,
              project.id,
              { orderBy, ...(walletAddress && { walletAddress }) },
              { ...slice, relations: relationsOfNodes({ context, info }) },
            ),
        ),
    },
    CustomerConnection,
  ),
}));

builder.prismaObjectField(Payment, 'customer', (t) =>
  t.relation('customer', { nullable: true, description: 'The customer who paid; null until the payment is verified.' }),
);
