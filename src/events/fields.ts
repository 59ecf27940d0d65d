import { z } from 'zod';
import { EVENT_PAYLOADS, EVENT_TYPES } from './types.ts';

/** How a field's values are compared. `choices` lists all possible values. */
export type EventField = { type: 'text' | 'decimal' | 'integer'; choices?: readonly string[] };

/** Every field that a filter can use: `type`, and the `data.…` fields of every event type, except lists. */
export const EVENT_FIELDS: ReadonlyMap<string, EventField> = new Map([
  ['type', { type: 'text', choices: EVENT_TYPES }],
  ...Object.values(EVENT_PAYLOADS).flatMap(({ shape }) =>
    Object.entries(shape).flatMap(([name, schema]): [string, EventField][] => {
      const isWrapped = schema instanceof z.ZodNullable || schema instanceof z.ZodOptional;
      const field = fieldOf(name, isWrapped ? schema.unwrap() : schema);
      return field ? [[`data.${name}`, field]] : [];
    }),
  ),
]);

function fieldOf(name: string, schema: z.core.$ZodType): EventField | undefined {
  if (schema instanceof z.ZodEnum) return { type: 'text', choices: schema.options.map(String) };
  if (schema instanceof z.ZodNumber) return { type: 'integer' };
  // Amounts are strings whose names end with the unit.
  if (schema instanceof z.ZodString) return { type: /(Usd|Atomic)$/.test(name) ? 'decimal' : 'text' };
  return undefined;
}
