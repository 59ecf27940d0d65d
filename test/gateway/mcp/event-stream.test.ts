import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messagesWith } from '../../../src/gateway/mcp/event-stream.ts';

/** All messages of a stream, as a common client reads them. */
function messagesIn(stream: string): string[] {
  const messages: string[] = [];
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === undefined || event === 'message') messages.push(data);
    },
  });
  parser.feed(stream);
  // It waits for what follows a carriage return.
  if (stream.endsWith('\r')) parser.feed('\n');
  return messages;
}

const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
const field = fc.constantFrom(
  'data: ',
  'data:',
  'data',
  'data:  ',
  'dat',
  'event:',
  'event',
  'event: message',
  'id: ',
  ': ',
  '',
);
const value = fc.constantFrom('', 'x', '{"id":"x"}', 'y', 'message', 'other', 'data: x', ' ');
const line = fc.tuple(field, value, lineEnd).map((parts) => parts.join(''));
const stream = fc
  .array(fc.oneof({ weight: 3, arbitrary: line }, { weight: 2, arbitrary: lineEnd }), { maxLength: 30 })
  .map((lines) => lines.join(''));

test('the messages that contain a text are those that a common client reads', () => {
  fc.assert(
    fc.property(stream, (text) => {
      for (const texts of [['x'], ['y', 'x']]) {
        const wanted = (data: string) => texts.some((one) => data.includes(one));
        // Events in which only another field has the text may be included.
        expect([...messagesWith(text, texts)].filter(wanted)).toEqual(messagesIn(text).filter(wanted));
      }
    }),
    { numRuns: 3_000 },
  );
});

test('events without the text are passed over', () => {
  const text = `data: a\n\ndata: x\n\n${'data: b\n\n'.repeat(1_000)}data: x2\n\ndata: c\n\n`;
  expect([...messagesWith(text, ['x'])]).toEqual(['x', 'x2']);
});
