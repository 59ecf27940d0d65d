import type { EventPayload } from '../../events/types.ts';
import { findNetwork } from '../../gateway/chain/networks.ts';
import type { BuildContext, ConnectorEvent } from '../definition.ts';
import { counted, oneLine, shorten } from './plain-text.ts';

/** Whether the event is good or bad news. Each connector type has its own colors or labels for this. */
export type Tone = 'info' | 'success' | 'warning' | 'danger';

/** `label` is our own text, and `value` is data. */
export type Fact = { label: string; value: string };

/**
 * An event as a human-readable message. `heading` and the labels are fixed. `detail` and the values may come from a
 * payer or the seller: each is a single line of at most 200 UTF-16 units and isn't escaped. Each connector type escapes
 * them for its own markup.
 */
export type Message = {
  heading: string;
  detail: string;
  /** Heading and detail on one line, at most 150 UTF-16 code units. */
  title: string;
  tone: Tone;
  /** At most 8, none with an empty value. */
  facts: readonly Fact[];
  /** The amount, for connector types that show little else. */
  amount?: string;
  /** Link to the event in the console. */
  url?: string;
  /** Link to the transaction in a block explorer. It contains no characters that need escaping. */
  transactionUrl?: string;
  eventId: string;
  /** ISO 8601 UTC. */
  at: string;
};

type View = { heading: string; detail: string; tone: Tone; amount?: string; facts: Fact[] };

const MAX_FACTS = 8;
const MAX_VALUE_LENGTH = 200;
const MAX_TITLE_LENGTH = 150;
const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/;

const NETWORK_NAMES: Readonly<Record<string, string>> = {
  'eip155:1': 'Ethereum',
  'eip155:10': 'OP Mainnet',
  'eip155:137': 'Polygon',
  'eip155:8453': 'Base',
  'eip155:42161': 'Arbitrum One',
  'eip155:43114': 'Avalanche',
  'eip155:84532': 'Base Sepolia (test network)',
};

/** Describes an event in a human-readable message. The same event produces the same message on every attempt. */
export function describeEvent(
  event: ConnectorEvent,
  context: Pick<BuildContext, 'projectName' | 'consoleUrl' | 'isLocalChain'>,
): Message {
  const view = viewOf(event);
  const transactionUrl = context.isLocalChain || event.test ? undefined : transactionUrlOf(event);
  const heading = event.test ? `[Test] ${view.heading}` : view.heading;
  const detail = clean(view.detail);
  const facts = [
    ...(event.test ? [fact('Test', 'Sent manually with sample data. No payment was made.')] : []),
    ...view.facts,
    fact('Project', context.projectName),
  ];
  return {
    heading,
    detail,
    title: shorten(detail ? `${heading}: ${detail}` : heading, MAX_TITLE_LENGTH),
    tone: view.tone,
    facts: facts.filter(({ value }) => value !== '').slice(0, MAX_FACTS),
    ...(view.amount && { amount: clean(view.amount) }),
    ...(context.consoleUrl && { url: context.consoleUrl }),
    ...(transactionUrl && { transactionUrl }),
    eventId: event.id,
    at: event.timestamp,
  };
}

/** `2026-01-02 03:04:05 UTC`, for places that can't show the reader's local time. */
export function utcTime(timestamp: string): string {
  return `${new Date(timestamp).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function viewOf(event: ConnectorEvent): View {
  switch (event.type) {
    case 'payment.verified':
      return { ...paymentView(event.data), heading: 'Payment verified', tone: 'info' };
    case 'payment.settled':
      return { ...paymentView(event.data), heading: 'Payment settled', tone: 'success' };
    case 'payment.failed':
      return {
        ...paymentView(event.data, [fact('Stage', event.data.stage), fact('Reason', event.data.message)]),
        heading: 'Payment failed',
        detail: words(event.data.reason),
        tone: 'danger',
      };
    case 'customer.first_payment':
      return firstPaymentView(event.data);
    case 'customer.milestone':
      return milestoneView(event.data);
    case 'endpoint.created':
      return endpointCreatedView(event.data);
    case 'endpoint.pricing_changed':
      return pricingChangedView(event.data);
    case 'revenue.daily_summary':
      return dailySummaryView(event.data);
  }
}

function paymentView(
  data: EventPayload<'payment.verified'> & { transactionHash?: string | null },
  extraFacts: Fact[] = [],
): Pick<View, 'detail' | 'amount' | 'facts'> {
  const amount = money(data.amountUsd, data.asset);
  return {
    detail: amount,
    amount,
    facts: [
      fact('Amount', amount),
      fact('Endpoint', `${data.method} ${data.endpointPath}`),
      ...extraFacts,
      fact('Payer', data.payer),
      fact('Network', networkName(data.network)),
      fact('Transaction', data.transactionHash),
    ],
  };
}

function firstPaymentView(data: EventPayload<'customer.first_payment'>): View {
  const amount = money(data.amountUsd, data.asset);
  return {
    heading: 'New customer',
    detail: `first payment of ${amount}`,
    tone: 'success',
    amount,
    facts: [
      fact('Amount', amount),
      fact('Endpoint', data.endpointPath),
      fact('Payer', data.payer),
      fact('Customer', data.customerId),
      fact('Network', networkName(data.network)),
      fact('Transaction', data.transactionHash),
    ],
  };
}

function milestoneView(data: EventPayload<'customer.milestone'>): View {
  const amount = money(data.milestoneUsd, 'USD');
  return {
    heading: 'Customer milestone',
    detail: `${shortHex(data.payer)} reached ${amount}`,
    tone: 'success',
    amount,
    facts: [
      fact('Milestone', amount),
      fact('Spent so far', money(data.totalUsd, 'USD')),
      fact('Payments', String(data.paymentCount)),
      fact('Payer', data.payer),
      fact('Customer', data.customerId),
    ],
  };
}

function endpointCreatedView(data: EventPayload<'endpoint.created'>): View {
  const price = money(data.priceUsd, 'USD');
  return {
    heading: 'Endpoint created',
    detail: `${data.path} at ${price}`,
    tone: 'info',
    amount: price,
    facts: [
      fact('Path', data.path),
      fact('Price per request', price),
      fact('Upstream', hostOf(data.upstreamUrl)),
      fact('Description', data.description),
    ],
  };
}

function pricingChangedView(data: EventPayload<'endpoint.pricing_changed'>): View {
  const price = money(data.priceUsd, 'USD');
  const previous = money(data.previousPriceUsd, 'USD');
  return {
    heading: 'Price changed',
    detail: `${data.path} from ${previous} to ${price}`,
    tone: 'warning',
    amount: price,
    facts: [fact('Path', data.path), fact('New price per request', price), fact('Previous price', previous)],
  };
}

function dayOf({ date, timeZone = 'UTC' }: EventPayload<'revenue.daily_summary'>): Fact {
  return timeZone === 'UTC' ? fact('Day (UTC)', date) : fact('Day', `${date}, ${timeZone}`);
}

function dailySummaryView(data: EventPayload<'revenue.daily_summary'>): View {
  const total = money(data.totalUsd, 'USD');
  return {
    heading: 'Daily revenue',
    detail: `${total} on ${data.date}, ${counted(data.paymentCount, 'payment')}, ${counted(data.customerCount, 'customer')}`,
    tone: 'info',
    amount: total,
    facts: [
      dayOf(data),
      fact('Revenue', total),
      fact('Payments', String(data.paymentCount)),
      fact('Customers', String(data.customerCount)),
      fact('Failed payments', String(data.failedCount)),
      ...data.topEndpoints
        .slice(0, 2)
        .map((endpoint, index) =>
          fact(`Top endpoint ${index + 1}`, `${endpoint.path}: ${money(endpoint.totalUsd, 'USD')}`),
        ),
    ],
  };
}

function fact(label: string, value: string | null | undefined): Fact {
  return { label, value: clean(value ?? '') };
}

function clean(value: string): string {
  return shorten(oneLine(value), MAX_VALUE_LENGTH);
}

/** `12.5`, `USDC` → `12.50 USDC`: at least two decimals, more only if the amount has them. */
function money(amount: string, unit: string): string {
  const [whole, fraction = ''] = amount.split('.', 2);
  return `${whole}.${fraction.padEnd(2, '0')} ${unit}`;
}

/** `0x1F98431c8aD9…` → `0x1F98…F984`, for titles and names. Anything else is unchanged. */
export function shortHex(value: string): string {
  if (!/^0x[0-9a-fA-F]{16,}$/.test(value)) return value;
  return `${value.slice(0, 6)}…${value.slice(-4)}`;
}

/** The transaction's page in the network's block explorer. Undefined if the transaction or the explorer is unknown. */
function transactionUrlOf({ data }: ConnectorEvent): string | undefined {
  if (!('transactionHash' in data) || !TRANSACTION_HASH.test(data.transactionHash ?? '')) return undefined;
  const network = findNetwork(data.network);
  return network && network.transactionUrl + data.transactionHash;
}

function networkName(network: string): string {
  return Object.hasOwn(NETWORK_NAMES, network) ? NETWORK_NAMES[network]! : network;
}

/** Shows only the host, because the path and query of an upstream URL may contain the seller's credentials. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}

/** An error code as words: `insufficient_funds` → `insufficient funds`. */
function words(code: string): string {
  return code.replaceAll('_', ' ');
}
