import { describe, expect, test } from 'vitest';
import { ResponseHeads } from '../../src/egress/response-heads.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const PROCESSING = 'HTTP/1.1 102 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </HTTP/1.1 100 x>\r\n\r\n';
const OK = `HTTP/1.1 200 OK\r\nX-Note: HTTP/1.1 100 Continue\r\n\r\n${CONTINUE}`;

/** What is left of these chunks, as one text. */
function applied(chunks: string[], heads = new ResponseHeads()): string {
  heads.expectResponse();
  return chunks
    .map((chunk) => {
      const bytes = Buffer.from(chunk, 'latin1');
      heads.apply(bytes);
      return bytes.toString('latin1');
    })
    .join('');
}

describe('100 Continue becomes 102 Processing', () => {
  const all = CONTINUE + HINTS + CONTINUE + OK;
  const changed = PROCESSING + HINTS + PROCESSING + OK;

  test('in front of a response, and nowhere else', () => {
    expect(applied([all])).toBe(changed);
  });

  test('wherever the bytes are split', () => {
    for (let first = 0; first <= all.length; first++) {
      const [start, rest] = [all.slice(0, first), all.slice(first)];
      expect(applied([start, rest])).toBe(changed);
      expect(applied([start, rest.slice(0, 1), rest.slice(1)])).toBe(changed);
    }
    expect(applied([...all])).toBe(changed);
  });

  test.each([
    [
      'header fields',
      'HTTP/1.1 100 Go\r\nDate: now\r\nServer: x\r\n\r\n',
      'HTTP/1.1 102 Go\r\nDate: now\r\nServer: x\r\n\r\n',
    ],
    ['no reason', 'HTTP/1.1 100\r\n\r\n', 'HTTP/1.1 102\r\n\r\n'],
    ['empty lines in front', `\r\n\r\n${CONTINUE}`, `\r\n\r\n${PROCESSING}`],
    ['lines that end with LF alone', 'HTTP/1.1 100 Go\nServer: x\n\n', 'HTTP/1.1 102 Go\nServer: x\n\n'],
  ])('with %s', (_what, text, expected) => {
    expect(applied([text + text + OK])).toBe(expected + expected + OK);
  });

  test.each(['101', '102', '103', '110', '120', '190', '200', '400', '500'])('but not %s', (status) => {
    const text = `HTTP/1.1 ${status} Any\r\n\r\n`;
    expect(applied([text])).toBe(text);
  });

  test('again for the next response', () => {
    const heads = new ResponseHeads();
    expect(applied([CONTINUE + OK], heads)).toBe(PROCESSING + OK);
    expect(applied([CONTINUE + OK], heads)).toBe(PROCESSING + OK);
  });

  test('only after a request was sent', () => {
    const bytes = Buffer.from(CONTINUE);
    new ResponseHeads().apply(bytes);
    expect(bytes.toString()).toBe(CONTINUE);
  });
});

describe('a response with too many lines besides its body is noticed', () => {
  const LIMIT = 2_048;
  /** Whether each of these chunks can be passed on. */
  function passed(...chunks: string[]): boolean[] {
    const heads = new ResponseHeads();
    heads.expectResponse();
    return chunks.map((chunk) => heads.apply(Buffer.from(chunk)));
  }
  const headers = (count: number) => `HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(count - 1)}`;

  test('if it has too many headers, and its body has any number of lines', () => {
    expect(passed(headers(LIMIT), 'a:\r\n')).toEqual([true, false]);
    expect(passed(`${headers(LIMIT)}\r\n${'\n'.repeat(10_000)}`, 'a:\r\n'.repeat(10_000))).toEqual([true, true]);
  });

  test('if it has too many informational responses, or too many headers in them', () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    expect(passed(hints.repeat(LIMIT), hints)).toEqual([true, false]);
    const linked = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    expect(passed(linked.repeat(LIMIT / 2), headers(1))).toEqual([true, false]);
  });

  test('if its trailers have too many lines', () => {
    const chunks = `A;x=y\r\n0\r\n\r\nHTTP/\r\n${'1\r\n\n\r\n'.repeat(LIMIT)}0\r\n`;
    for (const name of ['Transfer-Encoding', 'transfer-encoding']) {
      const response = `HTTP/1.1 200 OK\r\n${name}: chunked\r\n\r\n${chunks}`;
      expect(passed(response, 'a:\r\n'.repeat(LIMIT - 2), 'a:\r\n')).toEqual([true, true, false]);
      expect(passed(...response, ...'a:\r\n'.repeat(LIMIT - 2)).every(Boolean)).toBe(true);
      expect(passed(...response, ...'a:\r\n'.repeat(LIMIT - 1)).at(-1)).toBe(false);
      expect(passed(`${response}\r\n`, 'a:\r\n'.repeat(LIMIT))).toEqual([true, true]);
    }
  });

  test('if its chunks have more than 16 KB of extensions', () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = `1;${'x'.repeat(1_023)}\r\n\n\r\n`;
    expect(passed(head, chunk.repeat(16), '1;x\r\n\n\r\n')).toEqual([true, true, false]);
    expect(passed(`${head}1;`, 'x'.repeat(16_384), 'x')).toEqual([true, true, false]);
    expect(passed(head, '4000\r\n', ';'.repeat(16_384), '\r\n5\r\n;;;')).toEqual([true, true, true, true]);
    expect(passed('HTTP/1.1 200 OK\r\n\r\n', '1;', 'x'.repeat(20_000))).toEqual([true, true, true]);
  });

  test('but each response on a connection is counted by itself', () => {
    const heads = new ResponseHeads();
    for (let count = 0; count < 3; count++) {
      heads.expectResponse();
      expect(heads.apply(Buffer.from(`${headers(LIMIT)}\r\n`))).toBe(true);
    }
  });
});
