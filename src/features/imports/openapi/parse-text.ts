import { CORE_SCHEMA, load, mergeTag, YAMLException } from 'js-yaml';
import { invalidField } from '../../../errors.ts';
import { type JsonObject, LIMITS } from './document.ts';
import { isObject } from './values.ts';

const MAX_ALIASES = 1_000;
const MAX_MERGED_KEYS = 10_000;
// The core schema creates only plain values. Merge keys (`<<`) come from YAML 1.1, but many documents use them.
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/**
 * Parses a document in JSON or YAML. Values that YAML repeats with aliases are the same object, so they take up no more
 * space than the text.
 *
 * @throws AppError `VALIDATION_FAILED` for `/document`
 */
export function parseText(text: string): JsonObject {
  if (Buffer.byteLength(text) > LIMITS.documentBytes) throw refuse('Must be at most 5 MB.');
  // A byte order mark is allowed at the start of both formats.
  const content = text.replace(/^\uFEFF/, '').trim();
  if (content === '') throw refuse('Can’t be empty.');
  const value = content.startsWith('{') ? parseJson(content) : parseYaml(content);
  if (!isObject(value)) throw refuse('Must be an OpenAPI document in JSON or YAML.');
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, place = ''] = /\((line \d+ column \d+)\)/.exec((error as Error).message) ?? [];
    throw refuse(`Not valid JSON${place && `: see ${place}`}.`);
  }
}

function parseYaml(text: string): unknown {
  try {
    return load(text, { schema: SCHEMA, maxAliases: MAX_ALIASES, maxTotalMergeKeys: MAX_MERGED_KEYS });
  } catch (error) {
    const { reason, mark } = error instanceof YAMLException ? error : { reason: 'it can’t be read', mark: undefined };
    throw refuse(`Not valid YAML: ${reason.slice(0, 100)}${mark ? ` (line ${mark.line + 1})` : ''}.`);
  }
}

function refuse(message: string) {
  return invalidField('/document', message);
}
