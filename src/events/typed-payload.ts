import type { z } from 'zod';
import { EVENT_PAYLOADS, EVENT_TYPES, type EventType } from './types.ts';

/** An event's payload in the current version, and the event type, which determines its fields. */
export type TypedPayload = { type: EventType; data: Readonly<Record<string, unknown>> };
export type PayloadShape = Readonly<Record<string, z.ZodType>>;

const isOptional = (schema: z.ZodType) => schema.safeParse(null).success || schema.safeParse(undefined).success;

/**
 * The fields that can be null or missing in some event type. They are nullable in all GraphQL types, because GraphQL
 * rejects a document that selects a field in several types of a union if the field's type differs.
 */
export const NULLABLE_FIELDS: ReadonlySet<string> = new Set(
  EVENT_TYPES.map((eventType): PayloadShape => EVENT_PAYLOADS[eventType].shape).flatMap((shape) =>
    Object.keys(shape).filter((name) => isOptional(shape[name]!)),
  ),
);

/** Whether a payload has every non-nullable field. */
export function hasAllFields({ type, data }: TypedPayload): boolean {
  return Object.keys(EVENT_PAYLOADS[type].shape).every((name) => NULLABLE_FIELDS.has(name) || data[name] != null);
}
