import { type JsonObject, LIMITS } from './document.ts';
import { type Budget, isObject, own, quoted, spendSteps } from './values.ts';

type Resolved = { ok: true; value: unknown } | { ok: false; message: string };

/** Follows references within a document. References to other documents are never fetched. */
export type Resolve = (value: unknown) => Resolved;

/**
 * Creates a function that follows a value's `$ref`s until it reaches something that isn't a reference. The number of
 * steps is limited.
 */
export function createResolve(document: JsonObject, budget: Budget): Resolve {
  return (given) => {
    let value = given;
    for (let followed = 0; followed <= LIMITS.references; followed += 1) {
      const reference = own(value, '$ref');
      if (typeof reference !== 'string') return { ok: true, value };
      spendSteps(budget, reference.length);
      const found = lookUp(document, reference);
      if (!found.ok) return found;
      value = found.value;
    }
    return { ok: false, message: 'The references are circular, or the chain of references is too long.' };
  };
}

function lookUp(document: JsonObject, reference: string): Resolved {
  if (!reference.startsWith('#')) {
    return {
      ok: false,
      message: `${quoted(reference)} is in another document, which Tollgate doesn’t fetch. Bundle everything into one document.`,
    };
  }
  const missing = { ok: false, message: `${quoted(reference)} isn’t in the document.` } as const;
  if (reference !== '#' && !reference.startsWith('#/')) return missing;
  let value: unknown = document;
  for (const part of reference.split('/').slice(1)) {
    const name = nameOf(part);
    value = Array.isArray(value) ? value[Number(name)] : own(value, name);
    if (value === undefined) return missing;
  }
  return isObject(value) ? { ok: true, value } : missing;
}

/** A pointer's part (RFC 6901 §6): percent-encoded, with `~1` for a slash. */
function nameOf(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // The part isn't percent-encoded, so use it as is.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
