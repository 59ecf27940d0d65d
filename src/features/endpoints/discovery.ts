import { z } from 'zod';
import { Prisma } from '../../generated/prisma/client.ts';
import { MAX_JSON_BYTES, MAX_JSON_VALUES } from './json-limits.ts';
import { jsonSchemaInput } from './json-schema.ts';

const MAX_JSON_DEPTH = 32;
const MAX_SET_ESCAPES = 50;
const MAX_MIME_TYPE_CHARACTERS = 127;
const MAX_TAGS = 10;
const MAX_TAG_CHARACTERS = 32;

const FIRST = "!#$%&'+.^_`|~0-9A-Za-z-";
const TOKEN = `[*${FIRST}]+`;
// RFC 9110 §8.3.1. The wildcards that `Accept` allows aren't media types. Without lookaheads, because the OpenAPI
// document contains the pattern, and several languages don't support them.
const MEDIA_TYPE = new RegExp(
  `^\\s*[${FIRST}][*${FIRST}]*/(?:[${FIRST}]|\\*[*${FIRST}])[*${FIRST}]*(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*"))*\\s*$`,
);

/** The schemas of an endpoint's input, as stored. */
export type InputSchema = { [Part in InputPart]?: JsonObject };
/** `path` is for the path's placeholders. */
export type InputPart = (typeof INPUT_PARTS)[number];
const INPUT_PARTS = ['query', 'path', 'headers', 'body'] as const;
type JsonObject = Record<string, unknown>;

/** Any JSON value except null that is small enough to be shown to buyers. */
const json = z.unknown().superRefine((value, context) => {
  const problem = value === null ? { message: 'Must not be null.' } : problemOf(value);
  if (problem) context.addIssue({ code: 'custom', ...problem });
});

// Here and for tags, longer text isn't compared with the pattern, which would take time that grows with its square.
const mimeType = z
  .string()
  .trim()
  .max(MAX_MIME_TYPE_CHARACTERS, { abort: true })
  .regex(MEDIA_TYPE, 'Must be a media type, for example, "application/json".');

const inputSchema = json.pipe(z.unknown().superRefine(limitEscapes)).pipe(
  z
    .strictObject({
      query: jsonSchemaInput(['object']).optional(),
      path: jsonSchemaInput(['object']).optional(),
      headers: jsonSchemaInput(['object']).optional(),
      body: jsonSchemaInput(['object', 'array', 'string', 'number', 'integer', 'boolean']).optional(),
    })
    .refine(
      (parts) => INPUT_PARTS.some((part) => parts[part] !== undefined),
      'Must have at least one of `query`, `path`, `headers`, and `body`.',
    )
    .transform((schemas) => schemas as Prisma.JsonObject),
);

/**
 * Compiling a pattern takes up to a millisecond for each of its escapes for large sets of characters, such as `\p{L}`.
 */
function limitEscapes(schema: unknown, context: z.RefinementCtx): void {
  const escapes = JSON.stringify(schema ?? null).match(/\\\\[pP]/g) ?? [];
  if (escapes.length <= MAX_SET_ESCAPES) return;
  context.addIssue({
    code: 'custom',
    message: `Must have at most ${MAX_SET_ESCAPES} Unicode property escapes, such as \\p{L}.`,
    continue: false,
  });
}

const tag = z
  .string()
  .trim()
  .min(1, "Can't be empty.")
  .max(MAX_TAG_CHARACTERS, { abort: true })
  // Spaces around it are trimmed here, but not by programs that check the pattern in the OpenAPI document.
  .regex(/^\s*[\x20-\x7e]*\s*$/, 'Must be printable ASCII, because catalogs ignore other tags.');

/** The part of an endpoint's input that buyers and their agents can read. Setting a value to null removes it. */
export const discoveryInput = {
  mimeType: mimeType.nullish(),
  inputSchema: inputSchema.meta({ component: 'EndpointInputSchema' }).nullish(),
  exampleResponse: json.transform((value) => value as Prisma.JsonValue).nullish(),
  tags: z
    .array(tag)
    .max(MAX_TAGS, `Must have at most ${MAX_TAGS} tags.`)
    .meta({ default: [] })
    .transform((tags) => [...new Map(tags.map((text) => [text.toLowerCase(), text])).values()])
    .nullable()
    .transform((tags) => tags ?? [])
    .optional(),
};

export type DiscoveryInput = {
  mimeType?: string | null;
  inputSchema?: unknown;
  exampleResponse?: unknown;
  tags?: string[] | null;
};

type JsonChanges = { inputSchema?: Prisma.JsonValue | undefined; exampleResponse?: Prisma.JsonValue | undefined };

/** Changes as Prisma expects them: in JSON columns, null would be a JSON value, and `DbNull` means no value. */
export function withJsonColumns<T extends JsonChanges>({ inputSchema, exampleResponse, ...values }: T) {
  const column = (value: Prisma.JsonValue) => (value === null ? Prisma.DbNull : (value as Prisma.InputJsonValue));
  return {
    ...values,
    ...(inputSchema !== undefined && { inputSchema: column(inputSchema) }),
    ...(exampleResponse !== undefined && { exampleResponse: column(exampleResponse) }),
  };
}

type Place = { value: unknown; path: string[] };

/**
 * Why a value is too deep, is too large, has too many values, or can't be stored. Uses a loop so that deep nesting can't overflow the stack.
 */
function problemOf(root: unknown): { path?: string[]; message: string } | undefined {
  const waiting: Place[] = [{ value: root, path: [] }];
  let values = 0;
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const { value, path } = place;
    values += 1;
    if (values > MAX_JSON_VALUES)
      return { message: `Must have at most ${MAX_JSON_VALUES.toLocaleString('en-US')} values.` };
    if (path.length > MAX_JSON_DEPTH) return { message: `Must have at most ${MAX_JSON_DEPTH} levels.` };
    if (typeof value === 'number' && !Number.isFinite(value)) return { path, message: 'The number is too large.' };
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, item] of Object.entries(value)) {
      if (name.includes('\0') || !name.isWellFormed()) return { path, message: 'Names must be valid Unicode.' };
      waiting.push({ value: item, path: [...path, name] });
    }
  }
  const bytes = Buffer.byteLength(JSON.stringify(root) ?? '');
  return bytes <= MAX_JSON_BYTES ? undefined : { message: `Must be at most ${MAX_JSON_BYTES / 1024} KB of JSON.` };
}
