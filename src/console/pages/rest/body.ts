import { checkJson, type JsonFault } from '../../api/json-check.ts';
import type { JsonSchema, RestReference } from '../../api/openapi.ts';

type Schemas = RestReference['schemas'];

/** A request body as it was entered, and as it would be sent. Blank text means no body. */
export type EnteredBody = { value: unknown; faults: readonly JsonFault[] };

/** Reads and checks a body. A body that can't be parsed has a fault but no value. */
export function readBody(text: string, schema: JsonSchema, isRequired: boolean, schemas: Schemas): EnteredBody {
  if (text.trim() === '') {
    return { value: undefined, faults: isRequired ? [{ pointer: '', message: 'A body is required.' }] : [] };
  }
  try {
    const value: unknown = JSON.parse(text);
    return { value, faults: checkJson(schema, value, schemas) };
  } catch {
    return { value: undefined, faults: [{ pointer: '', message: 'This isn’t valid JSON.' }] };
  }
}
