import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { elementsOf, membersOf } from '../../../src/gateway/mcp/json-text.ts';
import { toolFailure } from '../../../src/gateway/mcp/tool-result.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const json = (body: string, headers = {}) => ({
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: Buffer.from(body),
});
const stream = (body: string) => ({ headers: { 'content-type': 'text/event-stream' }, body: Buffer.from(body) });
const event = (data: string, type = 'message') => `event: ${type}\ndata: ${data}\n\n`;

const OK = '{"jsonrpc":"2.0","id":"c1","result":{"content":[{"type":"text","text":"isError\\": true"}]}}';
const FAILED = '{"jsonrpc":"2.0","id":"c1","result":{"content":[{"type":"text","text":"}"}], "isError" : true}}';
const ERROR = '{"jsonrpc":"2.0","id":"c1","error":{"code":-32602,"message":"Unknown tool"}}';
const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"isError":true}}';
const ASKING = '{"jsonrpc":"2.0","id":"c1","method":"elicitation/create","params":{}}';
const BY_ERROR = 'The MCP server responded with the JSON-RPC error -32602.';
const BY_RESULT = 'The tool call’s result has `isError: true`.';

test.each([
  ['a result in which `isError` is true', json(FAILED), BY_RESULT],
  ['a JSON-RPC error', json(ERROR), BY_ERROR],
  ['an error without an ID', json(ERROR.replace('"id":"c1",', '')), BY_ERROR],
  ['an error with null as the ID', json(ERROR.replace('"id":"c1"', '"id":null')), BY_ERROR],
  ['an error in a batch', json(`[${PROGRESS},${ERROR}]`), BY_ERROR],
  ['an error with null as the result', json(ERROR.replace('"id"', '"result":null,"id"')), BY_ERROR],
  ['an error after a byte order mark', json(`\ufeff${ERROR}`), BY_ERROR],
  ['an error without a code', json(ERROR.replace('-32602', '[]')), BY_ERROR.replace('-32602', '(no code)')],
  ['an event', stream(event(FAILED)), BY_RESULT],
  ['an event after others', stream(event(PROGRESS) + event(ASKING) + event(ERROR)), BY_ERROR],
  ['an event of another type first', stream(event(OK, 'other') + event(ERROR)), BY_ERROR],
  ['an event without a type', stream(`: ping\n\nid: 1\nretry: 10\ndata:\n\ndata:${ERROR}\n\n`), BY_ERROR],
  ['an event with several lines', stream(`data: ${ERROR.replace(',"error', '\ndata: ,"error')}\n\n`), BY_ERROR],
  ['carriage returns', stream(event(ERROR).replaceAll('\n', '\r')), BY_ERROR],
  ['carriage returns and line feeds', stream(event(ERROR).replaceAll('\n', '\r\n')), BY_ERROR],
])('a call failed if there is %s', (_name, response, message) => {
  expect(toolFailure(response, 'c1')).toBe(message);
});

test.each([
  ['a result', json(OK)],
  ['a result that denies `isError`', json(FAILED.replace('true', 'false'))],
  ['`isError` as text', json(FAILED.replace('true', '"true"'))],
  [
    '`isError` elsewhere',
    json(
      FAILED.replace('"content"', '"structuredContent":{"isError":true},"content"').replace(', "isError" : true', ''),
    ),
  ],
  ['null as the error', json(OK.replace('"result"', '"error":null,"result"'))],
  ['a task', json('{"jsonrpc":"2.0","id":"c1","result":{"task":{"taskId":"a","status":"working"}}}')],
  ['a result before an error', stream(event(OK) + event(ERROR))],
  ['an error of another request', stream(event(ERROR.replace('c1', 'c2')) + event(OK))],
  ['an error whose ID has another type', json(ERROR.replace('"c1"', '1'))],
  ['a stream that ended early', stream('id: 1\nretry: 10\ndata:\n\n')],
  ['an event that is cut off', stream(`data: ${ERROR}\n`)],
  ['an event of another type', stream(event(ERROR, 'other'))],
  ['an encoded body', json(ERROR, { 'content-encoding': 'gzip' })],
  ['another content type', json(ERROR, { 'content-type': 'text/html' })],
  ['no content type', { headers: {}, body: Buffer.from(ERROR) }],
  ['JSON that is cut off', json(ERROR.slice(0, -1))],
  ['nothing', json('')],
  ['unclosed brackets', json('['.repeat(1_000_000))],
])("a call didn't fail if there is %s", (_name, response) => {
  expect(toolFailure(response, 'c1')).toBeUndefined();
});

test('IDs are compared as JavaScript reads them', () => {
  expect(toolFailure(json(ERROR.replace('c1', '\\u00631')), 'c1')).toBe(BY_ERROR);
});

test('of thousands of messages that could be the response, ten thousand are read', () => {
  expect(toolFailure(stream(event(ASKING).repeat(9_999) + event(ERROR)), 'c1')).toBe(BY_ERROR);
  expect(toolFailure(stream(event(ASKING).repeat(10_000) + event(ERROR)), 'c1')).toBeUndefined();
  // The others don't count, no matter how many there are.
  expect(toolFailure(stream(event(PROGRESS).repeat(20_000) + event(ERROR)), 'c1')).toBe(BY_ERROR);
});

test('names with invalid escapes are not parsed, because an error for each of them takes too long', () => {
  const parse = vi.spyOn(JSON, 'parse');
  expect(toolFailure(json(ERROR.replace('{', `{${'"\\q":1,'.repeat(100)}`)), 'c1')).toBe(BY_ERROR);
  expect(parse.mock.calls.length).toBeLessThan(10);
});

test('names with escapes are found', () => {
  const text = '{"\\u0061":1,"\\"":2,"\\\\":{"a":3},"b\\\\\\"":4}';
  expect(membersOf(text, ['a', '"', '\\', 'b\\"', 'b'])).toEqual({ a: '1', '"': '2', '\\': '{"a":3}', 'b\\"': '4' });
});

test('members and elements are found as `JSON.parse` finds them', () => {
  // In Node 24, `JSON.parse` can return a different name than the text has, so names that need escapes aren't compared.
  const stringUnit = fc.constantFrom(...'ab{}[]:,. 1\n\u{1f600}');
  const value = fc.oneof(
    fc.json({ stringUnit }),
    fc.string().map((one) => JSON.stringify(one)),
  );
  const spaced = fc.tuple(value, fc.constantFrom('', ' ', '\n\t\r ')).map(([text, space]) => space + text + space);
  const name = fc.oneof(fc.constantFrom('a', 'b', '__proto__'), fc.string({ unit: stringUnit }));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, spaced), { maxLength: 6 }), (entries) => {
      const object = `{${entries.map(([one, text]) => `${JSON.stringify(one)} :${text}`).join()}}`;
      const members = membersOf(object, ['a', 'b']);
      const parsed = JSON.parse(object);
      for (const one of ['a', 'b'] as const)
        expect(members?.[one] && JSON.parse(members[one])).toEqual(
          Object.hasOwn(parsed, one) ? parsed[one] : undefined,
        );
      const array = `[${entries.map(([, text]) => text).join()}]`;
      expect(elementsOf(array, 6)?.map((one) => JSON.parse(one))).toEqual(JSON.parse(array));
      expect(membersOf(array, ['a'])).toBeUndefined();
      expect(elementsOf(object, 6)).toBeUndefined();
    }),
    { numRuns: 2_000 },
  );
});

test('text that is not JSON never throws', () => {
  const text = fc.array(fc.constantFrom(...'{}[]",:\\ a1'), { maxLength: 30 }).map((characters) => characters.join(''));
  fc.assert(
    fc.property(text, (one) => {
      membersOf(one, ['a']);
      elementsOf(one, 5);
      toolFailure(stream(one), 'c1');
    }),
    { numRuns: 5_000 },
  );
});
