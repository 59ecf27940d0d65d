import fc from 'fast-check';
import { hostileJson } from '../support/hostile-text.ts';
import { encode } from './sign.ts';

/** In the value of every header that upstreams must not get. */
export const MARK = 'not-for-upstreams';

export type HeaderLine = readonly [name: string, value: string];
type Framing = { lines: HeaderLine[]; body: string };

/** A request's headers and body. `valid`: they follow RFC 9110 and RFC 9112. `long`: so do these, but they are long. */
export type HostileRequest = {
  path: '/free' | '/paid';
  lines: HeaderLine[];
  body: string;
  kind: 'valid' | 'long' | 'broken';
};

/** Some of the headers that every upstream gets. */
export const PASSED = [
  ...['accept', 'accept-language', 'baggage', 'cache-control', 'content-encoding', 'content-type', 'idempotency-key'],
  ...['if-none-match', 'last-event-id', 'mcp-session-id', 'prefer', 'range', 'traceparent', 'user-agent'],
  ...['x-request-id', 'x-requested-with'],
] as const;

/** What the caller may not tell an upstream: who it is, what was paid, and how its own connection works. */
const WITHHELD = [
  ...[
    'forwarded',
    'via',
    'x-forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-port',
  ],
  ...['x-forwarded-server', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip', 'x-client-ip', 'x-original-url'],
  ...['x-rewrite-url', 'x-http-method-override', 'x-host', 'x-webauth-user', 'remote-user', 'x-hasura-role'],
  ...['authorization', 'cookie', 'cookie2', 'x-api-key', 'proxy-authorization', 'proxy-connection', 'keep-alive'],
  ...['te', 'trailer', 'upgrade', 'http2-settings', 'max-forwards', 'origin', 'referer', 'date', 'from'],
  ...['tollgate-payer', 'tollgate-payment-id', 'tollgate-signature', 'tollgate-timestamp', 'payment-required'],
  ...['payment-response', 'x-payment-response', 'x-powered-by', 'sec-fetch-site', '__proto__', 'constructor'],
  ...['content_length', 'content_type', 'transfer_encoding', 'x_request_id', 'user_agent'],
] as const;

/** Shorter than any limit. */
const MAX_CHARACTERS = 7_000;
const TOKEN_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~".split('');
/** All bytes that a value may contain (RFC 9110 §5.5), written in Latin-1. */
const VALUE_CHARACTERS = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => /[\t\x20-\x7e\x80-\xff]/.test(character) && character !== ',',
);

const token = fc.string({ unit: fc.constantFrom(...TOKEN_CHARACTERS), minLength: 1, maxLength: 30 });
const value = fc.string({ unit: fc.constantFrom(...VALUE_CHARACTERS), maxLength: 60 });

/** The name with some letters in uppercase, or with underscores, which many servers take for hyphens. */
const spellings = (names: readonly string[], { underscores }: { underscores: boolean }) =>
  fc
    .tuple(fc.constantFrom(...names), fc.infiniteStream(fc.boolean()), underscores ? fc.boolean() : fc.constant(false))
    .map(([name, upper, isUnderscored]) => {
      const spelled = Array.from(name, (letter) => (upper.next().value ? letter.toUpperCase() : letter)).join('');
      return isUnderscored ? spelled.replaceAll('-', '_') : spelled;
    });

const passed = fc.tuple(spellings(PASSED, { underscores: false }), value);
const withheld = fc
  .tuple(
    fc.oneof(
      spellings(WITHHELD, { underscores: true }),
      token.map((name) => `x-${name}`),
    ),
    value,
  )
  .filter(([name]) => !/^x-(?:request-id|requested-with|correlation-id|payment)$/i.test(name))
  .map(([name, text]): HeaderLine => [name, `${MARK} ${text}`]);
/** Names other headers, which are then only for this connection. */
const connection = fc
  .array(
    fc.oneof(
      spellings([...PASSED, ...WITHHELD, 'host', 'content-length', 'close', 'upgrade'], { underscores: false }),
      token,
    ),
    {
      maxLength: 4,
    },
  )
  .map((names): HeaderLine => ['Connection', names.join(', ')]);
const expectation = fc.constantFrom<HeaderLine>(['Expect', '100-continue'], ['EXPECT', 'something-else']);
const lineOf =
  (name: string) =>
  (text: string): HeaderLine => [name, text];
const payment = fc.oneof(
  ...['PAYMENT-SIGNATURE', 'x-payment'].map((name) =>
    fc.oneof(value.map(lineOf(name)), hostileJson().filter(isShort).map(encode).map(lineOf(name))),
  ),
);

/** Framings that every server reads in the same way. */
function goodFramings(inner: string): Framing[] {
  const chunked = inChunks(inner);
  return [
    { lines: [], body: '' },
    { lines: [lengthOf(inner)], body: inner },
    { lines: [['transfer-encoding', 'chunked']], body: chunked },
    { lines: [['Transfer-Encoding', 'Chunked']], body: chunked },
  ];
}

/** Framings that two servers could read differently. */
function brokenFramings(inner: string): Framing[] {
  const chunked = inChunks(inner);
  const length = lengthOf(inner);
  const lengths = ['+10', '-1', '0x20', '1 0', '10,10', '1e1', ''];
  const codings = [
    'gzip, chunked',
    'chunked, gzip',
    'identity',
    'xchunked',
    'chunked, chunked',
    '"chunked"',
    'chunked;a=b',
  ];
  return [
    { lines: [length, ['Transfer-Encoding', 'chunked']], body: chunked },
    {
      lines: [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '0'],
      ],
      body: chunked,
    },
    { lines: [length, ['Content-Length', '0']], body: inner },
    { lines: [length, length], body: inner },
    { lines: [['Content-Length ', length[1]]], body: inner },
    ...lengths.map((text): Framing => ({ lines: [['Content-Length', text]], body: inner })),
    ...codings.map((text): Framing => ({ lines: [['Transfer-Encoding', text]], body: chunked })),
    { lines: [['Transfer-Encoding ', 'chunked']], body: chunked },
    { lines: [['Transfer-Encoding', '\u000bchunked']], body: chunked },
    {
      lines: [
        ['Transfer-Encoding', 'chunked'],
        ['Transfer-Encoding', 'identity'],
      ],
      body: chunked,
    },
  ];
}

const inChunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
const lengthOf = (text: string): HeaderLine => ['Content-Length', String(text.length)];

/** Lines that aren't headers, and Host headers that servers disagree about. */
const brokenLines = fc.constantFrom<HeaderLine[]>(
  [],
  [
    ['Host', 'a'],
    ['Host', 'b'],
  ],
  [
    ['Host', 'a'],
    ['', 'x'],
  ],
  [
    ['Host', 'a'],
    ['a b', 'x'],
  ],
  [
    ['Host', 'a'],
    ['a\0', 'x'],
  ],
  [
    ['Host', 'a'],
    ['a', 'x\0y'],
  ],
  [
    ['Host', 'a'],
    ['a', 'x\ry'],
  ],
  [
    ['Host', 'a'],
    ['a', 'x\ny: z'],
  ],
  [
    ['Host', 'a'],
    [' a', 'x'],
  ],
  [
    ['Host', 'a'],
    ['é', 'x'],
  ],
  [
    ['Host', 'a'],
    ['a', 'x'.repeat(20_000)],
  ],
  [
    ['Host', 'a'],
    ['accept', 'x'.repeat(9_000)],
  ],
);

const harmless = fc.array(
  fc.oneof({ weight: 3, arbitrary: passed }, { weight: 3, arbitrary: withheld }, connection, expectation, payment),
  { maxLength: 12 },
);
const path = fc.constantFrom<'/free' | '/paid'>('/free', '/paid');

/**
 * Any request that a client could send, most of them valid.
 *
 * @param inner the body.
 */
export function hostileRequest(inner: string): fc.Arbitrary<HostileRequest> {
  const valid = fc.tuple(path, harmless, fc.constantFrom(...goodFramings(inner))).map(([to, lines, framing]) => ({
    path: to,
    lines: [['Host', 'a'] as const, ...lines, ...framing.lines],
    body: framing.body,
    kind: lines.flat().join('').length < MAX_CHARACTERS ? ('valid' as const) : ('long' as const),
  }));
  const brokenFraming = fc
    .constantFrom(...brokenFramings(inner))
    .map(({ lines, body }): Framing => ({ lines: [['Host', 'a'], ...lines], body }));
  const broken = fc
    .tuple(
      path,
      harmless,
      fc.oneof(
        brokenFraming,
        brokenLines.map((lines): Framing => ({ lines, body: '' })),
      ),
    )
    .map(([to, lines, { lines: first, body }]) => ({
      path: to,
      lines: [...first, ...lines],
      body,
      kind: 'broken' as const,
    }));
  return fc.oneof({ weight: 4, arbitrary: valid }, { weight: 1, arbitrary: broken });
}

/** The values that upstreams must get: of all headers with this name, unless it is only for this connection. */
export function valuesOf(lines: readonly HeaderLine[], name: string): string[] {
  return namedInConnection(lines).includes(name) ? [] : valuesIn(lines, name);
}

/** Whether the connection must be closed after this request. */
export function isLast(lines: readonly HeaderLine[]): boolean {
  return namedInConnection(lines).includes('close');
}

function namedInConnection(lines: readonly HeaderLine[]): string[] {
  return valuesIn(lines, 'connection')
    .flatMap((text) => text.split(','))
    .map((name) => name.trim().toLowerCase());
}

function valuesIn(lines: readonly HeaderLine[], wanted: string): string[] {
  return lines
    .filter(([name]) => name.toLowerCase() === wanted)
    .map(([, text]) => text.replace(/^[\t ]+|[\t ]+$/g, ''));
}

function isShort(value: unknown): boolean {
  return JSON.stringify(value).length < 3_000;
}
