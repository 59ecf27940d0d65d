import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import pino from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { createPaymentRequiredCache } from '../../src/gateway/payment-required-cache.ts';

const PROJECT = 'proj_01jc9x2v5qe3w8k4m6n7p9r0st';
const OTHER = 'proj_01jc9x2v5qe3w8k4m6n7p9r0sv';
const TARGET = `/gateway/${PROJECT}/weather`;
const RESPONSE = {
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: '{"accepts":[]}',
};

let version: number | undefined;
let cache: ReturnType<typeof open>;

function open(publicUrl?: string, log = pino({ level: 'silent' })) {
  return createPaymentRequiredCache({
    routes: {
      version: (projectId) => ([PROJECT, OTHER].includes(projectId) ? version : undefined),
      projectOfHost: (host) => (host === 'shop.example' ? PROJECT : undefined),
    },
    publicUrl,
    log,
    onResponse() {},
  });
}

function requestFor(changes: { method?: string; url?: string; headers?: Record<string, string>; raw?: string[] } = {}) {
  const headers = { host: 'pay.example', ...changes.headers };
  const rawHeaders = [...Object.entries(headers).flat(), ...(changes.raw ?? [])];
  const { method = 'GET', url = TARGET } = changes;
  return { method, httpVersion: '1.1', url, headers, rawHeaders } as unknown as IncomingMessage;
}

/** The response, or undefined if the request is left to the framework. */
function responseTo(request: IncomingMessage, from = cache) {
  const sent = { status: 0, headers: {} as Record<string, unknown>, body: '' };
  const response = {
    writeHead(status: number, headers: Record<string, unknown>) {
      Object.assign(sent, { status, headers });
      return response;
    },
    end(body: string) {
      sent.body = body;
    },
    once(_event: string, finished: () => void) {
      finished();
    },
  };
  return from.respond(request, response as unknown as ServerResponse) ? sent : undefined;
}

function remember(request = requestFor(), from = cache) {
  const seen = {
    raw: request,
    originalUrl: request.url,
    url: request.url,
    routeOptions: { url: '/gateway/:projectId/*' },
  };
  from.remember(seen as unknown as FastifyRequest, { ...RESPONSE, version: version! });
}

beforeEach(() => {
  version = 1;
  cache = open('https://pay.example');
});

describe('a cached 402 response', () => {
  test("isn't remembered if its body is large", () => {
    const seen = {
      raw: requestFor(),
      originalUrl: TARGET,
      url: TARGET,
      routeOptions: { url: '/gateway/:projectId/*' },
    };
    const remembered = (characters: number) => {
      cache = open('https://pay.example');
      cache.remember(seen as unknown as FastifyRequest, {
        ...RESPONSE,
        body: 'x'.repeat(characters),
        version: version!,
      });
      return responseTo(requestFor()) !== undefined;
    };
    expect([remembered(8_192), remembered(8_193)]).toEqual([true, false]);
  });

  test('is sent again unchanged, except for the request ID', () => {
    remember();
    const [first, second] = [
      responseTo(requestFor()),
      responseTo(requestFor({ headers: { 'x-request-id': 'my-request-1' } })),
    ];
    for (const sent of [first, second]) {
      expect(sent).toMatchObject({ status: 402, body: RESPONSE.body });
      expect(sent!.headers).toMatchObject({ ...RESPONSE.headers, 'content-length': Buffer.byteLength(RESPONSE.body) });
    }
    expect(first!.headers['x-request-id']).toMatch(/^req_/);
    expect(second!.headers['x-request-id']).toBe('my-request-1');
  });

  test("is valid for one target on one host, including a project's own host", () => {
    remember();
    remember(requestFor({ url: '/weather', headers: { host: 'shop.example' } }));
    expect(responseTo(requestFor({ url: '/weather', headers: { host: 'shop.example' } }))).toBeDefined();
    for (const url of [`${TARGET}?city=Bern`, `${TARGET}/`, '/weather', '/graphql', `/gateway/${PROJECT}`]) {
      expect(responseTo(requestFor({ url })), url).toBeUndefined();
    }
    expect(responseTo(requestFor({ headers: { host: 'other.example' } }))).toBeUndefined();
  });

  test('is forgotten together with the routes that it was made from', () => {
    remember();
    version = 2;
    expect(responseTo(requestFor())).toBeUndefined();
    remember();
    version = undefined;
    expect(responseTo(requestFor())).toBeUndefined();
  });

  test.each([
    ['with a payment', { headers: { 'payment-signature': 'e30=' } }],
    ['with a version 1 payment', { headers: { 'x-payment': 'e30=' } }],
    ['with a body', { headers: { 'content-length': '2' } }],
    ['with a streamed body', { headers: { 'transfer-encoding': 'chunked' } }],
    ['that expects something', { headers: { expect: '100-continue' } }],
    ['for an upgrade', { headers: { upgrade: 'websocket' } }],
    ['from a browser', { headers: { accept: 'text/html,*/*', 'user-agent': 'Mozilla/5.0' } }],
    ['with two Host headers', { raw: ['HOST', 'pay.example'] }],
    ['with another method', { method: 'POST' }],
    ['with HEAD', { method: 'HEAD' }],
  ])('is neither remembered nor sent again for a request %s', (_title, changes) => {
    remember(requestFor(changes));
    expect(responseTo(requestFor())).toBeUndefined();
    remember();
    expect(responseTo(requestFor())).toBeDefined();
    expect(responseTo(requestFor(changes))).toBeUndefined();
  });

  test.each([
    { level: 'info', lines: [] },
    { level: 'debug', lines: [{ msg: 'request', method: 'GET', path: TARGET, status: 402 }] },
  ])('is logged only if the log level includes debug: $level', ({ level, lines }) => {
    const written: unknown[] = [];
    const log = pino({ level }, { write: (line: string) => void written.push(JSON.parse(line)) });
    const logging = open('https://pay.example', log);
    remember(requestFor(), logging);
    expect(responseTo(requestFor(), logging)).toBeDefined();
    expect(written).toMatchObject(lines);
    expect(written).toHaveLength(lines.length);
  });

  test('without a public URL, is remembered for each host, but not for requests through a proxy', () => {
    const direct = open();
    const forwarded = ['x-forwarded-host', 'x-forwarded-proto'].map((name) =>
      requestFor({ headers: { [name]: 'https' } }),
    );
    for (const request of forwarded) remember(request, direct);
    expect(responseTo(requestFor(), direct)).toBeUndefined();
    remember(requestFor(), direct);
    expect(responseTo(requestFor(), direct)).toBeDefined();
    expect(responseTo(requestFor({ headers: { host: 'other.example' } }), direct)).toBeUndefined();
    expect(forwarded.map((request) => responseTo(request, direct))).toEqual([undefined, undefined]);
  });

  test('is remembered for a limited number of targets', () => {
    for (let n = 0; n <= 1_000; n++) remember(requestFor({ url: `${TARGET}?n=${n}` }));
    expect(responseTo(requestFor({ url: `${TARGET}?n=0` }))).toBeUndefined();
    expect(responseTo(requestFor({ url: `${TARGET}?n=1000` }))).toBeDefined();
    remember(requestFor({ url: `${TARGET}?${'x'.repeat(512)}` }));
    expect(responseTo(requestFor({ url: `${TARGET}?${'x'.repeat(512)}` }))).toBeUndefined();
  });

  test('is remembered for a limited number of targets across all projects', () => {
    remember();
    for (let n = 0; n < 1_000; n++) remember(requestFor({ url: `/gateway/${OTHER}/weather?n=${n}` }));
    expect(responseTo(requestFor())).toBeUndefined();
    expect(responseTo(requestFor({ url: `/gateway/${OTHER}/weather?n=999` }))).toBeDefined();
  });
});
