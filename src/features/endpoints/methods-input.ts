import { z } from 'zod';
import { mustBeOneOf } from '../../did-you-mean.ts';
import { METHODS } from './methods.ts';

const KNOWN: readonly string[] = METHODS;

/** A pattern for the methods without a flag, because the OpenAPI document contains it: `^(?:[Gg][Ee][Tt]|…)$`. */
const IN_ANY_CASE = `^(?:${METHODS.map((method) => method.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`)).join('|')})$`;

/** Normalizes methods: converts them to uppercase, removes duplicates, and puts them in the order of `METHODS`. */
export const methodsInput = z
  .array(
    z
      .string()
      .meta({ pattern: IN_ANY_CASE })
      .transform((text, context) => {
        const method = text.toUpperCase();
        if (KNOWN.includes(method)) return method;
        context.addIssue({ code: 'custom', message: mustBeOneOf(text, KNOWN) });
        return z.NEVER;
      }),
  )
  .min(1, 'Must have at least one method.')
  .max(32)
  .transform((methods) => KNOWN.filter((method) => methods.includes(method)));
