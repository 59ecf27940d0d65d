import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { readMessage } from '../../../src/gateway/mcp/message.ts';

const read = (text: string | Uint8Array) => readMessage(typeof text === 'string' ? Buffer.from(text) : text);
const sent = (text: string) => {
  const message = read(text);
  return message.kind === 'free' ? message.text : message;
};
const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}';

test.each([
  ['a tool call', CALL, '1'],
  ['a string as the ID', '{"jsonrpc":"2.0","id":"a","method":"tools/call"}', '"a"'],
  ['escapes', '{"jsonrpc":"2.0","id":1,"\\u006dethod":"tools\\/\\u0063all"}', '1'],
  ['another method first', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', '1'],
  ['uppercase letters', '{"jsonrpc":"2.0","id":1,"method":"Tools/CALL"}', '1'],
  ['spaces and control characters', '{"jsonrpc":"2.0","id":1,"method":" tools/call\\u0000\\n\\u200b"}', '1'],
  ['fullwidth letters', '{"jsonrpc":"2.0","id":1,"method":"ｔools/call"}', '1'],
  ['an ID with an exponent', '{"jsonrpc":"2.0","id":1.0e2,"method":"tools/call"}', '1.0e2'],
  ['two IDs', '{"id":2,"jsonrpc":"2.0","method":"tools/call","ID":3,"id":1}', '1'],
])('a tool call is paid for, and gets another ID: %s', (_name, text, id) => {
  const message = read(text);
  if (message.kind !== 'call') throw new Error('it is free');
  const { method, params } = JSON.parse(text);
  expect(message.callId).toMatch(/^tollgate_call_[\w-]{22}_[\w-]+$/);
  expect(Buffer.from(message.callId.slice(37), 'base64url').toString()).toBe(id);
  expect(message.text).toBe(JSON.stringify({ jsonrpc: '2.0', id: message.callId, method, params }));
});

test.each([
  ['a request', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a"}}'],
  ['a request without parameters', '{"jsonrpc":"2.0","id":"x","method":"ping"}'],
  ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
  ['a result', '{"jsonrpc":"2.0","id":1,"result":{}}'],
  ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}'],
  ['a batch', '[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":2,"method":"ping"}]'],
])('everything else is free, and sent as it is: %s', (_name, text) => {
  expect(sent(text)).toBe(text);
});

test.each([
  ['the last of two methods', '"method":"tools/call","method":"ping"', '"method":"ping"'],
  ['no method in another case', '"method":"ping","Method":"tools/call"', '"method":"ping"'],
  ['no unknown member', '"method":"ping","__proto__":{"method":"tools/call"},"_meta":{}', '"method":"ping"'],
  ['a method without escapes', '"method":"p\\u0069ng"', '"method":"ping"'],
])('a free message is written again with %s', (_name, members, expected) => {
  expect(sent(`{ "id" : 1, ${members}, "jsonrpc":"2.0" }`)).toBe(`{"jsonrpc":"2.0","id":1,${expected}}`);
});

test('values are sent exactly as they were written', () => {
  const params =
    '{"amount":12345678901234567890.10,"e":1E400,"text":"\\ud83d\\u0041 \\/ }","a":{"a":1,"a":2},"n":[ 1 , -0 ]}';
  const text = `{"jsonrpc":"2.0","id":98765432109876543210,"method":"resources/read","params":${params}}`;
  expect(sent(text)).toBe(text);
});

test.each([
  ['a tool call in a batch', `[{"jsonrpc":"2.0","id":2,"method":"ping"},${CALL}]`, 'in its own request'],
  ['a tool call in a batch in uppercase', `[${CALL.replace('call', 'CALL')}]`, 'in its own request'],
  ['an empty batch', ' [ ] ', 'at least one'],
  ['a large batch', `[${Array(21).fill('{"jsonrpc":"2.0","method":"a"}').join()}]`, 'at most 20'],
  ['a batch in a batch', '[[{"jsonrpc":"2.0","method":"a"}]]', 'JSON-RPC'],
  ['a tool call without an ID', '{"jsonrpc":"2.0","method":"tools/call"}', 'must have an `id`'],
  ['a tool call with a long ID', CALL.replace('1', `"${'x'.repeat(254)}"`), 'at most 255 bytes'],
  ['the ID of a tool call', '{"jsonrpc":"2.0","id":"tollg\\u0061te_call_x","method":"ping"}', 'the ID of a tool call'],
  [
    'a cancellation of a tool call',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"tollgat\\u0065_call_x","requestId":1}}',
    'the ID of a tool call',
  ],
  ['null as the ID', '{"jsonrpc":"2.0","id":null,"method":"tools/call"}', '`id`'],
  ['an object as the ID', '{"jsonrpc":"2.0","id":{},"method":"tools/call"}', '`id`'],
  ['a method that is not a string', '{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', 'JSON-RPC'],
  ['a long method', `{"jsonrpc":"2.0","id":1,"method":"${'a'.repeat(256)}"}`, 'at most 255 characters'],
  // It is refused before it is normalized, which can take minutes.
  ['a tool call with a long method', CALL.replace('tools', `${' '.repeat(256)}tools`), 'at most 255 characters'],
  ['a method with other characters', '{"jsonrpc":"2.0","id":1,"method":"tools/cаll"}', 'printable ASCII'],
  ['a method and a result', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', 'JSON-RPC'],
  ['a result and an error', '{"jsonrpc":"2.0","id":1,"error":{},"result":{}}', 'JSON-RPC'],
  ['a result without an ID', '{"jsonrpc":"2.0","result":{}}', 'JSON-RPC'],
  ['parameters without a method', '{"jsonrpc":"2.0","id":1,"result":{},"params":{}}', 'JSON-RPC'],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 'JSON-RPC'],
  ['a string', '"tools/call"', 'JSON-RPC'],
  ['null', 'null', 'JSON-RPC'],
  ['nothing', '', 'valid UTF-8-encoded JSON'],
  ['text after the message', `${CALL}x`, 'valid UTF-8-encoded JSON'],
  ['two messages', `${CALL}\n${CALL}`, 'valid UTF-8-encoded JSON'],
  ['a byte order mark', `\ufeff${CALL}`, 'valid UTF-8-encoded JSON'],
  ['a comment', `/* */${CALL}`, 'valid UTF-8-encoded JSON'],
  ['deep nesting that is cut off', '['.repeat(500_000), 'valid UTF-8-encoded JSON'],
])('a body is refused if it is %s', (_name, text, detail) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({ code: 'BAD_REQUEST', message: expect.stringContaining(detail) }),
  );
});

test.each(['utf16le', 'latin1'] as const)('a body in the encoding %s is refused', (encoding) => {
  expect(() => read(Buffer.from(CALL.replace('echo', 'é'), encoding))).toThrow(
    expect.objectContaining({ code: 'BAD_REQUEST' }),
  );
});

test('deep nesting is sent as it is', () => {
  const params = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  const text = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${params}}`;
  expect(sent(text) === text).toBe(true);
});

test('what is sent has one meaning, and never calls a tool', () => {
  const name = fc.constantFrom(
    'jsonrpc',
    'id',
    'method',
    'Method',
    'params',
    'result',
    'error',
    '_meta',
    'm\\u0065thod',
  );
  const value = fc.oneof(
    fc.constantFrom(
      '"2.0"',
      '"tools/call"',
      '"ping"',
      '1',
      '"a\\"}"',
      '{"method":"tools/call"}',
      '[{"a":"]"}]',
      'null',
    ),
    fc.json({ stringUnit: fc.constantFrom(...'ab{}[]:,. 1\n') }),
  );
  const object = fc
    .array(fc.tuple(name, value), { maxLength: 8 })
    .map((members) => `{ ${['"jsonrpc":"2.0"', ...members.map(([one, text]) => `"${one}" : ${text}`)].join(' , ')} }`);
  const body = fc.oneof(
    object,
    fc.array(object, { maxLength: 3 }).map((objects) => `[${objects.join()}]`),
  );
  fc.assert(
    fc.property(body, (text) => {
      let result: ReturnType<typeof read>;
      try {
        result = read(text);
      } catch (error) {
        return (error as { code: string }).code === 'BAD_REQUEST';
      }
      const parsed = JSON.parse(text);
      if (result.kind === 'call') return !Array.isArray(parsed) && /^tools\/call$/i.test(parsed.method.trim());
      const messages = [JSON.parse(result.text)].flat();
      expect([parsed].flat().map(known)).toEqual(messages);
      // No parser, however lenient, finds a name twice.
      const names = messages.flatMap((message) => Object.keys(message).map((one) => one.toLowerCase()));
      expect(names.length).toBe(messages.reduce((sum, one) => sum + new Set(Object.keys(one)).size, 0));
      return messages.every(({ method }) => method === undefined || method.toLowerCase() !== 'tools/call');
    }),
    { numRuns: 2_000 },
  );
});

function known(message: Record<string, unknown>) {
  const names = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
  return Object.fromEntries(Object.entries(message).filter(([name]) => names.includes(name)));
}

test('the values in a message are never built, because they can take dozens of times as much memory and time', () => {
  const params = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
  const parse = vi.spyOn(JSON, 'parse');
  try {
    sent(`{"jsonrpc":"2.0","method":"ping","params":${params}}`);
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(100);
  } finally {
    parse.mockRestore();
  }
});
