import type { ObjectRef } from '@pothos/core';
import { z } from 'zod';
import { NULLABLE_FIELDS, type PayloadShape, type TypedPayload } from '../../../events/typed-payload.ts';
import {
  EVENT_PAYLOADS,
  EVENT_TYPE_DESCRIPTIONS,
  EVENT_TYPES,
  type EventType,
  schemaName,
} from '../../../events/types.ts';
import { builder } from '../../../schema/builder.ts';
import { enumName, PaymentStageEnum } from '../../../schema/scalars.ts';

type Data = TypedPayload['data'];

/** The enum for each field with a fixed set of values. */
const ENUMS = { stage: PaymentStageEnum } as const;
/** The item type of each list. */
const ITEM_TYPES: Readonly<Record<string, string>> = { topEndpoints: 'RevenueDailySummaryEndpoint' };

type SchemaTypes = typeof builder.$inferSchemaTypes;

/** The object type for a payload or for a list's items, with a field for each field in the zod shape. */
function objectType<Parent>(
  name: string,
  description: string,
  shape: PayloadShape,
  dataOf: (parent: Parent) => Data,
): ObjectRef<SchemaTypes, Parent> {
  return builder.objectRef<Parent>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        Object.entries(shape).map(([field, wrapped]) => {
          const schema =
            wrapped instanceof z.ZodNullable || wrapped instanceof z.ZodOptional ? wrapped.unwrap() : wrapped;
          const description = wrapped.description ?? z.globalRegistry.get(schema as z.ZodType)?.description ?? '';
          const options = { nullable: NULLABLE_FIELDS.has(field), description };
          const value = (parent: Parent) => dataOf(parent)[field];
          if (schema instanceof z.ZodArray) {
            const item = listItem(field, schema.element as z.ZodObject);
            return [field, t.field({ ...options, type: [item], resolve: (parent) => value(parent) as Data[] })];
          }
          if (schema instanceof z.ZodNumber) {
            return [field, t.int({ ...options, resolve: (parent) => value(parent) as number })];
          }
          if (schema instanceof z.ZodEnum) {
            const type = ENUMS[field as keyof typeof ENUMS];
            if (!type) throw new Error(`${name}.${field} needs an enum in ENUMS`);
            // Payloads spell enum values as REST does.
            return [
              field,
              t.field({ ...options, type, resolve: (parent) => enumName(String(value(parent))) as never }),
            ];
          }
          const type = field.endsWith('Id') ? 'ID' : 'String';
          return [field, t.field({ ...options, type, resolve: (parent) => value(parent) as string })];
        }),
      ),
  });
}

function listItem(field: string, { shape }: z.ZodObject): ObjectRef<SchemaTypes, Data> {
  const name = ITEM_TYPES[field];
  if (!name) throw new Error(`The list ${field} needs a name for its items in ITEM_TYPES`);
  return objectType<Data>(name, 'An endpoint in a daily summary.', shape as PayloadShape, (item) => item);
}

const typeName = (eventType: EventType) => `${schemaName(eventType)}Data`;

/** What an event contains: a type for each event type, generated from `EVENT_PAYLOADS`. */
export const EventPayload = builder.unionType('EventPayload', {
  description: 'What an event contains. There is a type for each event type.',
  types: EVENT_TYPES.map((eventType) =>
    objectType<TypedPayload>(
      typeName(eventType),
      `The content of \`${eventType}\`: ${EVENT_TYPE_DESCRIPTIONS[eventType]}`,
      EVENT_PAYLOADS[eventType].shape,
      ({ data }) => data,
    ),
  ),
  resolveType: ({ type }) => typeName(type),
});
