import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from 'graphql';
import { SCOPE_DESCRIPTIONS, SCOPES } from '../auth/permissions.ts';
import { CONNECTOR_CATEGORIES, CONNECTOR_TYPES } from '../connectors/definition.ts';
import { EVENT_TYPE_DESCRIPTIONS, EVENT_TYPE_FILTERS, EVENT_TYPES } from '../events/types.ts';
import {
  AttemptTrigger,
  DeliveryStatus,
  KeyEnvironment,
  PaymentStage,
  ProjectMode,
  Tier,
  WebhookOrdering,
} from '../generated/prisma/enums.ts';
import { builder } from './builder.ts';

const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** JavaScript reads February 30 as March 2. */
function isDay(text: string): boolean {
  const day = new Date(text);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function parseDateTime(value: unknown): Date {
  const date =
    typeof value === 'string' && ISO_8601.test(value) && isDay(value.slice(0, 10)) ? new Date(value) : undefined;
  // PostgreSQL has no year 0, and doesn't read years with five digits as they are written here.
  const year = date?.getUTCFullYear();
  if (!date || year === undefined || !(year >= 1 && year <= 9999)) {
    throw new GraphQLError('Must be an ISO 8601 time with an offset, for example, "2026-01-02T03:04:05Z".');
  }
  return date;
}

builder.addScalarType(
  'DateTime',
  new GraphQLScalarType<Date, string>({
    name: 'DateTime',
    description: 'A point in time: ISO 8601 in UTC, for example, `2026-01-02T03:04:05.678Z`.',
    specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
    serialize: (value) => (value as Date).toISOString(),
    parseValue: parseDateTime,
    parseLiteral: (node) => parseDateTime(node.kind === Kind.STRING ? node.value : undefined),
  }),
);

builder.addScalarType(
  'JSON',
  new GraphQLScalarType({
    name: 'JSON',
    description: 'Any JSON value.',
    serialize: (value) => value,
    parseValue: (value) => value,
    parseLiteral: literalToJson,
  }),
);

function literalToJson(node: ValueNode, variables?: Record<string, unknown> | null): unknown {
  switch (node.kind) {
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, literalToJson(value, variables)]));
    case Kind.LIST:
      return node.values.map((value) => literalToJson(value, variables));
    case Kind.VARIABLE:
      return variables?.[node.name.value];
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    default:
      return node.value;
  }
}

/** `payment.settled` as an enum value's name: `PAYMENT_SETTLED`. */
export function enumName(value: string): string {
  return value === '*' ? 'ALL' : value.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase();
}

function enumValues<const T extends string>(values: readonly T[], describe: (value: T) => string) {
  return Object.fromEntries(values.map((value) => [enumName(value), { value, description: describe(value) }]));
}

export const EventTypeEnum = builder.enumType('EventType', {
  description: 'An event type.',
  values: enumValues(EVENT_TYPES, (eventType) => `\`${eventType}\`: ${EVENT_TYPE_DESCRIPTIONS[eventType]}`),
});

export const EventTypeFilterEnum = builder.enumType('EventTypeFilter', {
  description: 'An event type to subscribe to, or all event types.',
  values: enumValues(EVENT_TYPE_FILTERS, (kind) => `\`${kind}\`: ${EVENT_TYPE_DESCRIPTIONS[kind]}`),
});

export const ConnectorTypeEnum = builder.enumType('ConnectorType', {
  description: 'A third-party service that events can be delivered to.',
  values: enumValues(CONNECTOR_TYPES, (type) => `\`${type}\``),
});

export const ConnectorCategoryEnum = builder.enumType('ConnectorCategory', {
  description: 'The category of a connector type.',
  values: enumValues(CONNECTOR_CATEGORIES, (category) => category),
});

export const TierEnum = builder.enumType('Tier', {
  description: 'An account’s tier, which sets its limits.',
  values: {
    STARTER: { value: Tier.STARTER, description: '60 requests per minute, no connectors.' },
    PRO: { value: Tier.PRO, description: '300 requests per minute, 5 connectors.' },
    BUSINESS: { value: Tier.BUSINESS, description: '1,000 requests per minute, 15 connectors.' },
    ENTERPRISE: { value: Tier.ENTERPRISE, description: 'Custom rate limit, unlimited connectors.' },
  },
});

export const ProjectModeEnum = builder.enumType('ProjectMode', {
  description: 'Whether a project accepts real money.',
  values: {
    LIVE: { value: ProjectMode.LIVE, description: 'Buyers pay real money.' },
    TEST: { value: ProjectMode.TEST, description: 'Buyers pay on test networks, with test money that has no value.' },
  },
});

export const KeyEnvironmentEnum = builder.enumType('KeyEnvironment', {
  description: 'What an API key is for.',
  values: {
    LIVE: { value: KeyEnvironment.LIVE, description: 'A live project. The key starts with `tg_live_`.' },
    TEST: { value: KeyEnvironment.TEST, description: 'A test project. The key starts with `tg_test_`.' },
  },
});

export const ApiKeyScopeEnum = builder.enumType('ApiKeyScope', {
  description: 'What an API key can do.',
  values: enumValues(SCOPES, (scope) => SCOPE_DESCRIPTIONS[scope]),
});

export const DeliveryStatusEnum = builder.enumType('DeliveryStatus', {
  description: 'The status of a delivery.',
  values: {
    PENDING: { value: DeliveryStatus.PENDING, description: 'Waiting for its first or next attempt.' },
    RUNNING: { value: DeliveryStatus.RUNNING, description: 'Being sent.' },
    SUCCEEDED: { value: DeliveryStatus.SUCCEEDED, description: 'Accepted by the destination.' },
    FAILED: { value: DeliveryStatus.FAILED, description: 'Failed; there are no more automatic retries.' },
    SKIPPED: { value: DeliveryStatus.SKIPPED, description: 'Skipped; see `reason`.' },
  },
});

export const WebhookOrderingEnum = builder.enumType('WebhookOrdering', {
  description: 'How a webhook’s deliveries are ordered.',
  values: {
    NONE: { value: WebhookOrdering.NONE, description: 'Each delivery is sent as soon as possible.' },
    PAYMENT: {
      value: WebhookOrdering.PAYMENT,
      description: 'Events for the same payment are sent one at a time, in the order they happened.',
    },
  },
});

export const AttemptTriggerEnum = builder.enumType('AttemptTrigger', {
  description: 'What caused an attempt.',
  values: {
    SCHEDULED: {
      value: AttemptTrigger.SCHEDULED,
      description: 'The event itself or an automatic retry caused the attempt.',
    },
    MANUAL: { value: AttemptTrigger.MANUAL, description: 'Someone resent the delivery or sent a test event.' },
  },
});

export const PaymentStageEnum = builder.enumType('PaymentStage', {
  description: 'The step at which a payment failed.',
  values: {
    VERIFY: {
      value: PaymentStage.VERIFY,
      description: 'The signature was invalid, the terms were not met, or the gateway was interrupted.',
    },
    UPSTREAM: {
      value: PaymentStage.UPSTREAM,
      description: 'There was no usable response from the upstream, or the buyer disconnected too early.',
    },
    SETTLE: { value: PaymentStage.SETTLE, description: 'The payment could not be settled.' },
  },
});
