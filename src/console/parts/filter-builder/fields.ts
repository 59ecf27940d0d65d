/**
 * An event field that filters can use. `choices` lists all possible values. The values of an `enum` come from the API.
 */
export type EventField =
  | { type: 'text' | 'decimal' | 'integer' }
  | { type: 'choice'; choices: readonly string[] }
  | { type: 'choice'; enum: 'EventType' };

export type Operator = 'eq' | 'ne' | 'in' | 'gt' | 'gte' | 'lt' | 'lte' | 'exists' | 'startsWith' | 'contains';

const TEXT = { type: 'text' } as const;
const DECIMAL = { type: 'decimal' } as const;
const INTEGER = { type: 'integer' } as const;

/** Every field that filters can use. A test compares this table with the events. */
export const EVENT_FIELDS: Readonly<Record<string, EventField>> = {
  type: { type: 'choice', enum: 'EventType' },
  'data.amountUsd': DECIMAL,
  'data.amountAtomic': DECIMAL,
  'data.endpointPath': TEXT,
  'data.endpointId': TEXT,
  'data.method': TEXT,
  'data.payer': TEXT,
  'data.payTo': TEXT,
  'data.customerId': TEXT,
  'data.paymentId': TEXT,
  'data.network': TEXT,
  'data.asset': TEXT,
  'data.assetAddress': TEXT,
  'data.transactionHash': TEXT,
  'data.bookingDate': TEXT,
  'data.stage': { type: 'choice', choices: ['verify', 'upstream', 'settle'] },
  'data.reason': TEXT,
  'data.message': TEXT,
  'data.upstreamStatusCode': INTEGER,
  'data.milestoneUsd': DECIMAL,
  'data.totalUsd': DECIMAL,
  'data.paymentCount': INTEGER,
  'data.customerCount': INTEGER,
  'data.failedCount': INTEGER,
  'data.date': TEXT,
  'data.from': TEXT,
  'data.to': TEXT,
  'data.timeZone': TEXT,
  'data.path': TEXT,
  'data.upstreamUrl': TEXT,
  'data.priceUsd': DECIMAL,
  'data.previousPriceUsd': DECIMAL,
  'data.description': TEXT,
};

const SAME = ['eq', 'ne', 'in'] as const;
const ORDERED = ['gt', 'gte', 'lt', 'lte'] as const;

/** The operators for each type of field, in the order that the form shows them. */
export const OPERATORS: Readonly<Record<EventField['type'], readonly Operator[]>> = {
  text: [...SAME, 'startsWith', 'contains', ...ORDERED, 'exists'],
  decimal: ['gte', 'gt', 'lte', 'lt', ...SAME, 'exists'],
  integer: ['gte', 'gt', 'lte', 'lt', ...SAME, 'exists'],
  choice: [...SAME, 'exists'],
};

export const OPERATOR_LABELS: Readonly<Record<Operator, string>> = {
  eq: 'equals',
  ne: 'doesn’t equal',
  in: 'is one of',
  gt: 'is above',
  gte: 'is at least',
  lt: 'is below',
  lte: 'is at most',
  startsWith: 'starts with',
  contains: 'contains',
  exists: 'has a value',
};
