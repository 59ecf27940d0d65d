import { invalidField, toPointer } from '../../../errors.ts';
import { METHODS } from '../../endpoints/methods.ts';
import { type ApiDocument, type ApiOperation, type JsonObject, LIMITS, type Problem } from './document.ts';
import { type Reading, readOperation } from './operations.ts';
import { parseText } from './parse-text.ts';
import { endpointPath, shapeOf } from './paths.ts';
import { createResolve } from './references.ts';
import { serversOf, swaggerServers } from './servers.ts';
import { type Budget, isObject, own, proseOf, quoted } from './values.ts';

/**
 * Reads an OpenAPI document: 3.0, 3.1 (https://spec.openapis.org/oas/v3.1.0), or Swagger 2.0, in JSON or YAML. Anything
 * that can't become an endpoint is listed in `problems`. Nothing is fetched. The time and the size of the result are
 * always limited (`LIMITS`).
 *
 * @throws AppError `VALIDATION_FAILED` for `/document` if it isn't an OpenAPI document, or its operations are too large
 */
export function readOpenApi(text: string): ApiDocument {
  const document = parseText(text);
  const isSwagger = isSwaggerDocument(document);
  const problems: Problem[] = [];
  const budget: Budget = { nodes: LIMITS.allNodes, bytes: LIMITS.operationsBytes, steps: LIMITS.steps };
  const reading: Reading = {
    resolve: createResolve(document, budget),
    budget,
    isSwagger,
    produces: own(document, 'produces'),
  };
  const info = own(document, 'info');
  const operations = readPaths(own(document, 'paths'), reading, problems);
  return {
    title: proseOf(own(info, 'title'), LIMITS.titleLength),
    description: proseOf(own(info, 'description'), LIMITS.descriptionLength),
    servers: isSwagger ? swaggerServers(document) : serversOf(own(document, 'servers'), budget),
    operations,
    problems: bounded(problems),
  };
}

/** Whether the document is Swagger 2.0 rather than OpenAPI 3. In YAML without quotes, the version is a number. */
function isSwaggerDocument(document: JsonObject): boolean {
  const swagger = own(document, 'swagger');
  const openapi = own(document, 'openapi');
  if (openapi === undefined && /^2(?:\.0)?$/.test(String(swagger))) return true;
  if (/^3(?:\.[01](?:\.\d{1,3})?)?(?:-.{1,20})?$/.test(String(openapi))) return false;
  if (openapi === undefined && swagger === undefined) {
    throw invalidField('/document', 'Must be an OpenAPI document. It has neither an “openapi” nor a “swagger” field.');
  }
  throw invalidField('/document', 'Must be OpenAPI 3.0 or 3.1, or Swagger 2.0.');
}

function readPaths(paths: unknown, reading: Reading, problems: Problem[]): ApiOperation[] {
  if (!isObject(paths)) return [];
  const templates = Object.keys(paths).filter((name) => !name.startsWith('x-'));
  if (templates.length > LIMITS.paths) {
    const message = `The document has ${templates.length} paths. Only the first ${LIMITS.paths} are read.`;
    problems.push({ pointer: '/paths', message });
  }
  const byShape = new Map<string, string>();
  return templates.slice(0, LIMITS.paths).flatMap((template) => {
    const pointer = toPointer(['paths', template.slice(0, 200)]);
    const refuse = (message: string) => {
      problems.push({ pointer, message });
      return [];
    };
    const converted = endpointPath(template);
    if (!converted.ok) return refuse(converted.message);
    const { path } = converted;
    const earlier = byShape.get(shapeOf(path));
    if (earlier !== undefined) return refuse(`Matches the same requests as ${quoted(earlier)}.`);
    byShape.set(shapeOf(path), template);
    const item = reading.resolve(paths[template]);
    if (!item.ok) return refuse(item.message);
    if (!isObject(item.value)) return refuse('Must be an object.');
    return readPath(item.value, { path, pointer }, reading, problems);
  });
}

function readPath(
  item: JsonObject,
  { path, pointer }: { path: string; pointer: string },
  reading: Reading,
  problems: Problem[],
): ApiOperation[] {
  const shared = {
    path,
    pathDescription: proseOf(own(item, 'summary') ?? own(item, 'description'), LIMITS.descriptionLength),
    server: serversOf(own(item, 'servers'), reading.budget)[0] ?? null,
  };
  for (const method of ['trace', 'query']) {
    if (own(item, method) === undefined) continue;
    problems.push({ pointer: `${pointer}/${method}`, message: `${method.toUpperCase()} isn’t supported.` });
  }
  return METHODS.flatMap((method) => {
    const value = own(item, method.toLowerCase());
    if (!isObject(value)) return [];
    const place = { parameters: own(item, 'parameters'), pointer: `${pointer}/${method.toLowerCase()}`, method };
    const operation = { method, ...shared, ...readOperation(value, place, reading, problems) };
    spendBytes(operation, reading.budget);
    return [operation];
  });
}

function spendBytes(operation: ApiOperation, budget: Budget): void {
  budget.bytes -= Buffer.byteLength(JSON.stringify(operation));
  if (budget.bytes >= 0) return;
  throw invalidField(
    '/document',
    'The document is larger than 16 MB after its references are expanded. Split it into smaller documents.',
  );
}

/** The first problems, each with a message of limited length. */
function bounded(problems: readonly Problem[]): Problem[] {
  const first = problems
    .slice(0, LIMITS.problems)
    .map(({ pointer, message }) => ({ pointer, message: proseOf(message, LIMITS.messageLength) ?? '' }));
  const more = problems.length - first.length;
  return more > 0 ? [...first, { pointer: '', message: `There are ${more} more problems.` }] : first;
}
