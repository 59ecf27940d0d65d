import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { plainRequestOf } from '../../src/graphql/plain-requests.ts';

type Given = { method?: string; url?: string; headers?: Record<string, string>; body?: unknown };

const read = ({ method = 'POST', url = '/graphql', headers = {}, body = { query: '{ viewer { tier } }' } }: Given) =>
  plainRequestOf({ method, url, headers: { 'content-type': 'application/json', ...headers }, body } as FastifyRequest);

describe('a request that Yoga’s HTTP server isn’t needed for', () => {
  test.each([
    ['without Accept', {}, 'application/json'],
    ['from the console', { accept: 'application/json' }, 'application/json'],
    ['from fetch', { accept: '*/*' }, 'application/json'],
    ['from axios', { accept: 'application/json, text/plain, */*' }, 'application/json'],
    [
      'from Apollo Client',
      { accept: 'application/graphql-response+json,application/json;q=0.9' },
      'application/graphql-response+json',
    ],
    ['with a charset', { 'content-type': 'application/json; charset=utf-8' }, 'application/json'],
  ])('is one %s', (_what, headers: Record<string, string>, mediaType) => {
    expect(read({ headers })).toEqual({ params: { query: '{ viewer { tier } }' }, mediaType });
  });

  test('keeps all parameters', () => {
    const body = {
      query: 'query A { viewer { tier } }',
      operationName: 'A',
      variables: { a: 1 },
      extensions: { b: 2 },
    };
    expect(read({ body })).toEqual({ params: body, mediaType: 'application/json' });
  });

  test.each<[string, Given]>([
    ['by GET', { method: 'GET' }],
    ['with parameters in its URL', { url: '/graphql?query={x}' }],
    ['for a stream', { headers: { accept: 'text/event-stream' } }],
    ['for a stream, among other types', { headers: { accept: 'application/json, text/event-stream' } }],
    ['for parts', { headers: { accept: 'multipart/mixed, application/json' } }],
    ['in another type', { headers: { 'content-type': 'application/graphql+json' } }],
    ['that subscribes', { body: { query: 'subscription { deliveryUpdated(projectId: "x") { cursor } }' } }],
    ['that may be a subscription', { body: { query: 'query A { x } subscription B { y }', operationName: 'B' } }],
    ['with a batch', { body: [{ query: '{ viewer { tier } }' }] }],
    ['without a document', { body: {} }],
    ['with a document that is a number', { body: { query: 1 } }],
    ['with variables that are a list', { body: { query: '{ x }', variables: [] } }],
    ['with extensions that are a string', { body: { query: '{ x }', extensions: 'x' } }],
    ['with another parameter', { body: { query: '{ x }', id: 1 } }],
  ])('is not one %s', (_what, given) => {
    expect(read(given)).toBeUndefined();
  });
});
