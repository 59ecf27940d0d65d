import { expect } from 'vitest';
import type { ConnectorRequest } from '../../src/connectors/exchange.ts';

export type RequestRules = {
  /** The vendor's hosts. */
  hosts: readonly string[];
  /** Part of every secret in the config. */
  mark: string;
  maxBodyBytes: number;
  secretInUrl: boolean;
};

export type ReadBody = {
  /** Returns every field with its name, at any depth. Array items have the name of their array. */
  fields: [name: string, value: unknown][];
  /** Every string value. */
  strings: string[];
};

const BODY_TYPES = ['application/json', 'application/x-ndjson', 'application/x-www-form-urlencoded'];
// Headers that the HTTP client sets, or that are valid for only one connection (RFC 9110 §7.6.1).
const FORBIDDEN_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'te'];

/**
 * Checks that any HTTP client could send the request to the vendor, and that the request doesn't leak its credential.
 */
export function checkRequest(request: ConnectorRequest, rules: RequestRules): void {
  const url = new URL(request.url);
  expect(url.protocol).toBe('https:');
  expect(rules.hosts).toContain(url.host);
  expect([url.username, url.password, url.hash]).toEqual(['', '', '']);
  expect(url.hostname).not.toContain(rules.mark);
  if (!rules.secretInUrl) expect(decodeURIComponent(request.url)).not.toContain(rules.mark);

  for (const [name, value] of Object.entries(request.headers)) {
    expect(name).toMatch(/^[a-z0-9!#$%&'*+.^_`|~-]+$/);
    expect(FORBIDDEN_HEADERS).not.toContain(name);
    expect(value).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
  }

  const { body, method } = request;
  expect(body !== undefined).toBe(method !== 'GET');
  if (body === undefined) return;
  expect(body.isWellFormed()).toBe(true);
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(rules.maxBodyBytes);
  expect(BODY_TYPES).toContain(request.headers['content-type']);
  // Only Slack's probe may have a body that isn't JSON.
  if (body !== '{') expect(() => readBody(request)).not.toThrow();
}

/** Parses a request's body by its content type. @throws SyntaxError if the body is malformed */
export function readBody({ headers, body = '' }: ConnectorRequest): ReadBody {
  const result: ReadBody = { fields: [], strings: [] };
  for (const value of parseBody(headers['content-type'], body)) walk(value, '', result);
  return result;
}

function parseBody(contentType: string | undefined, body: string): unknown[] {
  if (body === '') return [];
  if (contentType === 'application/x-www-form-urlencoded') return [Object.fromEntries(new URLSearchParams(body))];
  if (contentType !== 'application/x-ndjson') return [JSON.parse(body)];
  const lines = body.split('\n');
  if (lines.pop() !== '') throw new SyntaxError('The last line is incomplete.');
  return lines.map((line) => JSON.parse(line));
}

function walk(value: unknown, name: string, result: ReadBody): void {
  if (typeof value === 'string') result.strings.push(value);
  if (Array.isArray(value)) for (const item of value) walk(item, name, result);
  else if (typeof value === 'object' && value !== null) {
    for (const [field, item] of Object.entries(value)) walk(item, field, result);
  } else result.fields.push([name, value]);
}
