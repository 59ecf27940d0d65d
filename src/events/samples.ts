import type { EventPayload, EventType } from './types.ts';

const payer = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const transactionHash = `0x${'5e'.repeat(32)}`;

const payment = {
  paymentId: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
  endpointId: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
  endpointPath: '/weather',
  method: 'GET',
  customerId: 'cus_01jc9x2v5qe3w8k4m6n7p9r0st',
  payer,
  payTo: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  amountUsd: '0.01',
  amountAtomic: '10000',
  asset: 'USDC',
  assetAddress: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  network: 'eip155:84532',
};

/** A realistic payload for each event type, for test events and the examples in the documentation. */
export const SAMPLE_PAYLOADS: { [K in EventType]: EventPayload<K> } = {
  'payment.verified': payment,
  'payment.settled': { ...payment, transactionHash },
  'payment.failed': {
    ...payment,
    stage: 'settle',
    reason: 'insufficient_funds',
    message: 'The payer does not hold enough of the asset.',
    transactionHash: null,
  },
  'customer.first_payment': {
    customerId: payment.customerId,
    payer,
    paymentId: payment.paymentId,
    endpointId: payment.endpointId,
    endpointPath: payment.endpointPath,
    amountUsd: payment.amountUsd,
    amountAtomic: payment.amountAtomic,
    asset: payment.asset,
    network: payment.network,
    transactionHash,
  },
  'customer.milestone': {
    customerId: payment.customerId,
    payer,
    paymentId: payment.paymentId,
    milestoneUsd: '100',
    totalUsd: '100.25',
    paymentCount: 10025,
  },
  'endpoint.created': {
    endpointId: payment.endpointId,
    path: payment.endpointPath,
    upstreamUrl: 'https://api.example.com/weather',
    priceUsd: '0.01',
    description: 'Current weather by city',
  },
  'endpoint.pricing_changed': {
    endpointId: payment.endpointId,
    path: payment.endpointPath,
    previousPriceUsd: '0.01',
    priceUsd: '0.02',
  },
  'revenue.daily_summary': {
    date: '2026-01-02',
    from: '2026-01-02T00:00:00.000Z',
    to: '2026-01-03T00:00:00.000Z',
    timeZone: 'UTC',
    totalUsd: '12.34',
    paymentCount: 1204,
    customerCount: 37,
    failedCount: 3,
    topEndpoints: [
      { endpointId: payment.endpointId, path: payment.endpointPath, totalUsd: '12.34', paymentCount: 1204 },
    ],
  },
};
