import { createHash } from 'node:crypto';
import { isEmailAddress } from '../../features/projects/public-profile.ts';
import { formatUsd } from '../../money.ts';
import type { Catalog, Offer } from './catalog.ts';
import { createSizeLimit, MAX_FULL_BYTES } from './document-size.ts';
import { escapeHtml, oneLine } from './plain-text.ts';
import { TOOL_CALL_SCHEMA } from './tool-call.ts';

type Json = Record<string, unknown>;

const MAX_TITLE_CHARACTERS = 200;
const MAX_SUMMARY_CHARACTERS = 120;
const MAX_DESCRIPTION_CHARACTERS = 1_000;
/** Without the number that makes it unique. Programs that generate code use the ID as a name. */
const MAX_ID_CHARACTERS = 60;
const ID_HASH_CHARACTERS = 16;
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const JSON_TYPE = 'application/json';
// RFC 9110 §5.6.2
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PAYMENT = {
  name: 'PAYMENT-SIGNATURE',
  in: 'header',
  description: 'The payment (x402 version 2). Without it, you get a 402 response with the terms.',
  schema: { type: 'string' },
};
const PAYMENT_REQUIRED = {
  description: 'Payment is required. The terms are in the header (x402 version 2) and in the body (version 1).',
  headers: { 'PAYMENT-REQUIRED': { description: 'Base64-encoded JSON.', schema: { type: 'string' } } },
  content: { [JSON_TYPE]: { schema: { type: 'object' } } },
};

/** How to use the documents, for agents. */
export const GUIDANCE =
  'You use the x402 protocol to pay for each request to a paid operation. Send the request, sign the terms in ' +
  'the 402 response, and send the same request again with the payment. Any x402 client does this for you. If you lose ' +
  'the response, send the same request with the same payment again. You are charged only once.';

/**
 * An OpenAPI 3.1 document with an operation for each endpoint and method. `x-payment-info` contains the price, as
 * https://github.com/Merit-Systems/x402scan/blob/main/docs/DISCOVERY.md describes it.
 *
 * @param base the base URL for the endpoint paths
 */
export function openApiOf(catalog: Catalog, base: string): Json {
  const { description, iconUrl, contact, offers } = catalog;
  const { paths, listed } = pathsOf(offers);
  const leftOut = catalog.leftOut + offers.length - listed;
  return {
    openapi: '3.1.0',
    info: {
      title: oneLine(catalog.name, MAX_TITLE_CHARACTERS),
      version: '1.0.0',
      ...(contact && { contact: isEmailAddress(contact) ? { email: contact } : { url: contact } }),
      ...(description && { description: escapeHtml(description) }),
      'x-guidance': leftOut > 0 ? `${GUIDANCE} ${leftOut} endpoints are not listed.` : GUIDANCE,
      ...(iconUrl && { 'x-logo': { url: iconUrl } }),
    },
    servers: [{ url: base }],
    'x-agentcash-guidance': { llmsTxtUrl: `${base}/llms.txt` },
    paths,
    components: { parameters: { Payment: PAYMENT }, responses: { PaymentRequired: PAYMENT_REQUIRED } },
  };
}

/** The operations of as many offers as fit, by path. Offers that only fit without their schemas don't have them. */
function pathsOf(offers: readonly Offer[]): { paths: Record<string, Json>; listed: number } {
  const paths: Record<string, Json> = {};
  const ids = new Map<string, number>();
  const fits = createSizeLimit();
  let listed = 0;
  for (const offer of offers) {
    const template = templateOf(offer);
    const known = paths[template] ?? {};
    const added = offer.methods
      .filter((method) => !(method.toLowerCase() in known))
      .map((method) => ({ method, id: uniqueId(method, offer, ids) }));
    const write = (written: Offer) =>
      Object.fromEntries(added.map(({ method, id }) => [method.toLowerCase(), operation(written, method, id)]));
    const full = write(offer);
    const brief = write({ ...offer, inputSchema: null, exampleResponse: null });
    const operations = fits(template + JSON.stringify(full), MAX_FULL_BYTES) ? full : brief;
    if (operations === brief && !fits(template + JSON.stringify(brief))) break;
    paths[template] = { ...known, ...operations };
    listed++;
  }
  return { paths, listed };
}

function operation(offer: Offer, method: string, operationId: string): Json {
  const { description, protocol, priceAtomic, tags, inputSchema } = offer;
  const isTool = protocol === 'MCP';
  const isPaid = priceAtomic > 0n;
  const body = WITH_BODY.has(method) ? (inputSchema?.body ?? (isTool ? TOOL_CALL_SCHEMA : undefined)) : undefined;
  return {
    operationId,
    summary: oneLine(description ?? '', MAX_SUMMARY_CHARACTERS) || (isTool ? 'Call a tool' : `${method} ${offer.path}`),
    ...(description && { description: escapeHtml(description.slice(0, MAX_DESCRIPTION_CHARACTERS)) }),
    ...(tags.length > 0 && { tags }),
    security: [],
    ...(isPaid && { 'x-payment-info': paymentInfo(priceAtomic) }),
    parameters: [
      ...pathParameters(offer),
      ...parametersOf('query', inputSchema?.query),
      ...headerParameters(inputSchema?.headers),
      ...(isPaid ? [{ $ref: '#/components/parameters/Payment' }] : []),
    ],
    ...(body && { requestBody: { required: true, content: { [JSON_TYPE]: { schema: body } } } }),
    responses: {
      200: success(offer),
      ...(isPaid && { 402: { $ref: '#/components/responses/PaymentRequired' } }),
    },
  };
}

function paymentInfo(priceAtomic: bigint): Json {
  return { price: { mode: 'fixed', currency: 'USD', amount: formatUsd(priceAtomic) }, protocols: [{ x402: {} }] };
}

function success({ mimeType, exampleResponse }: Offer): Json {
  const description = 'The API’s response.';
  if (mimeType === null && exampleResponse === null) return { description };
  const example = exampleResponse === null ? {} : { example: exampleResponse };
  return { description, content: { [mimeType ?? JSON_TYPE]: { schema: {}, ...example } } };
}

function parametersOf(place: 'query' | 'header', described: Json | undefined) {
  const required = new Set((described?.required ?? []) as string[]);
  return Object.entries((described?.properties ?? {}) as Record<string, unknown>).map(([name, schema]) => ({
    name,
    in: place,
    required: required.has(name),
    schema,
  }));
}

/**
 * Names of headers are case-insensitive. Those that OpenAPI describes elsewhere can't be parameters:
 * https://spec.openapis.org/oas/v3.1.0#parameter-object
 */
function headerParameters(headers: Json | undefined): Json[] {
  const taken = new Set(['accept', 'content-type', 'authorization', PAYMENT.name.toLowerCase()]);
  return parametersOf('header', headers).filter(({ name }) => {
    const isFree = HEADER_NAME.test(name) && !taken.has(name.toLowerCase());
    taken.add(name.toLowerCase());
    return isFree;
  });
}

function pathParameters(offer: Offer): Json[] {
  const described = (offer.inputSchema?.path?.properties ?? {}) as Record<string, unknown>;
  return placeholdersOf(offer).map((name) => {
    const schema = Object.hasOwn(described, name) ? described[name] : { type: 'string' };
    return { name, in: 'path', required: true, schema };
  });
}

/** The names of a path's placeholders. What a trailing `*` matches is called `rest`. */
function placeholdersOf({ path }: Offer): string[] {
  return templateOf({ path })
    .split('/')
    .filter((segment) => segment.startsWith('{'))
    .map((segment) => segment.slice(1, -1));
}

function templateOf({ path }: Pick<Offer, 'path'>): string {
  const names = path.split('/');
  const rest = names.includes(':rest') ? '{rest_}' : '{rest}';
  return names
    .map((segment) => {
      if (segment === '*') return rest;
      return segment.startsWith(':') ? `{${segment.slice(1)}}` : segment;
    })
    .join('/');
}

/** An operation ID that tools can use as a name, for example, `get_users_id`. */
function uniqueId(method: string, { path }: Offer, taken: Map<string, number>): string {
  const name = shortened(`${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, '_')}`.replace(/_$/, ''), path);
  let number = taken.get(name) ?? 1;
  let id = name;
  while (taken.has(id)) id = `${name}_${++number}`;
  taken.set(name, number);
  if (id !== name) taken.set(id, 1);
  return id;
}

/** A long name's beginning and a hash of its path, so that it stays the same when other endpoints change. */
function shortened(name: string, path: string): string {
  if (name.length <= MAX_ID_CHARACTERS) return name;
  const hash = createHash('sha256').update(path).digest('hex').slice(0, ID_HASH_CHARACTERS);
  return `${name.slice(0, MAX_ID_CHARACTERS - ID_HASH_CHARACTERS - 1)}_${hash}`;
}
