import { canonicalPath } from '../../endpoints/path.ts';
import { quoted } from './values.ts';

export type EndpointPath = { ok: true; path: string } | { ok: false; message: string };

/** A placeholder that is a whole segment: `{id}`, or `{rest+}` for the rest of the path. */
const PLACEHOLDER = /^\{([^{}]+)\}$/;
const MAX_LENGTH = 2_048;

/**
 * An endpoint's path for a path template (https://spec.openapis.org/oas/v3.1.0#path-templating): `/users/:id` for
 * `/users/{id}`. Names that an endpoint can't have are changed. A trailing `{name+}`, as in Amazon API Gateway, becomes `*`.
 */
export function endpointPath(template: string): EndpointPath {
  if (template.length > MAX_LENGTH) return refuse(`Must be at most ${MAX_LENGTH} bytes.`);
  const names = new Map<string, number>();
  const segments: string[] = [];
  const parts = template.split('/');
  for (const [index, part] of parts.entries()) {
    const [, name] = PLACEHOLDER.exec(part) ?? [];
    if (name === undefined) {
      if (/[{}]/.test(part)) return refuse(`${quoted(part)}: a parameter must be an entire path segment.`);
      if (part.startsWith(':')) return refuse(`${quoted(part)}: write this parameter as {${part.slice(1, 40)}}.`);
      if (part === '*') return refuse('Contains “*”, which would match every path below it.');
      segments.push(part);
    } else if (!name.endsWith('+')) segments.push(`:${freeName(name, names)}`);
    else if (index === parts.length - 1) segments.push('*');
    else return refuse(`${quoted(part)}: only the last segment can match the rest of the path.`);
  }
  return canonicalPath(segments.join('/'));
}

/** The name that an endpoint's path has for a parameter. */
export function placeholderName(given: string): string {
  return given.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_');
}

/** A parameter name that isn't taken yet. `taken` has the last number that was added to each name. */
function freeName(given: string, taken: Map<string, number>): string {
  const name = placeholderName(given);
  let free = name;
  let number = taken.get(name) ?? 1;
  while (taken.has(free)) free = `${name}_${++number}`;
  taken.set(name, number);
  taken.set(free, 1);
  return free;
}

/** Two paths with the same shape match the same requests. */
export function shapeOf(path: string): string {
  return path.replaceAll(/\/:[^/]+/g, '/:');
}

function refuse(message: string): EndpointPath {
  return { ok: false, message };
}
