import { describe, expect, test } from 'vitest';
import { parameterNames } from '../../../src/gateway/upstream/parameter-names.ts';
import { parseUpstream, upstreamTarget } from '../../../src/gateway/upstream/target.ts';

function target(upstreamUrl: string, path: string, request: string) {
  const [requestPath = '', query] = request.split('?');
  return upstreamTarget(
    parseUpstream(upstreamUrl),
    path.slice(1).split('/'),
    requestPath.slice(1).split('/'),
    query === undefined ? '' : `?${query}`,
  );
}

describe('the upstream path', () => {
  test.each([
    ['https://a.test/v1/now', '/weather', '/weather', '/v1/now'],
    ['https://a.test', '/weather', '/weather', '/'],
    ['https://a.test/v1/', '/weather', '/weather', '/v1/'],
    ['https://a.test/u/:id', '/users/:id', '/users/7', '/u/7'],
    ['https://a.test/u/:id/:id', '/users/:id', '/users/7', '/u/7/7'],
    ['https://a.test/u', '/users/:id', '/users/7', '/u/7'],
    ['https://a.test/u/', '/users/:id/orders', '/users/7/orders', '/u/7/orders'],
    ['https://a.test/:b/:a', '/x/:a/:b', '/x/1/2', '/2/1'],
    ['https://a.test/only/:b', '/x/:a/:b', '/x/1/2', '/only/2'],
    ['https://a.test', '/*', '/a/b', '/a/b'],
    ['https://a.test/base', '/files/*', '/files/a/b', '/base/a/b'],
    ['https://a.test/base', '/files/*', '/files/', '/base/'],
    ['https://a.test/base/*/raw', '/files/*', '/files/a/b', '/base/a/b/raw'],
    ['https://a.test/u/:id', '/users/:id/*', '/users/7/a/b', '/u/7/a/b'],
    ['https://a.test/u/:other', '/users/:id', '/users/7', '/u/:other/7'],
    ['https://a.test/p', '/:p', '/%252e', '/p/%252e'],
    // Some servers read a host after "//".
    ['https://a.test/*/raw', '/files/*', '/files/', '/raw'],
    ['https://a.test/store/*/raw', '/files/*', '/files/a/', '/store/a/raw'],
    ['https://a.test/store/*', '/files/*', '/files/a/', '/store/a/'],
  ])('for the upstream %s, the path %s, and the request %s is %s', (upstreamUrl, path, request, expected) => {
    expect(target(upstreamUrl, path, request)).toEqual({ ok: true, origin: 'https://a.test', path: expected });
  });

  test("can't get a placeholder from a request", () => {
    expect(target('https://a.test/:a/:b', '/:a/:b', '/:b/x')).toMatchObject({ path: '/:b/x' });
  });

  test("has the upstream URL's query first, followed by the caller's, unchanged", () => {
    expect(target('https://a.test/x?key=s%20k', '/w', '/w?q=%61&r=a+b&&')).toMatchObject({
      path: '/x?key=s%20k&q=%61&r=a+b&&',
    });
    expect(target('https://a.test/x?key=s', '/w', '/w')).toMatchObject({ path: '/x?key=s' });
    expect(target('https://a.test/x', '/w', '/w?')).toMatchObject({ path: '/x' });
  });

  test.each([
    ...['?key=mine', '?a=1&key=mine', '?KEY=mine', '?%6bey=mine', '?key', '?a=1;key=mine'],
    ...['?+key=mine', '?key%00x=mine'],
  ])("can't be given a query parameter that the upstream URL sets: %s", (query) => {
    expect(target('https://a.test/x?key=sellers', '/w', `/w${query}`)).toEqual({
      ok: false,
      message: 'The query parameter "key" is set by the seller.',
    });
  });

  test.each([
    ['api_key=s', '?api.key=mine', 'api_key'],
    ['key=s', '?key[]=mine', 'key[]'],
    ['key=s', '?key%5B0%5D=mine', 'key[0]'],
    ['key=s', '?key[a][b]=mine', 'key[a][b]'],
    ['filter[tenant]=s', '?filter=mine', 'filter'],
    ['filter[tenant]=s', '?filter[tenant][]=mine', 'filter[tenant][]'],
  ])("can't be given a query parameter that servers treat as the same: %s, %s", (query, request, name) => {
    expect(target(`https://a.test/x?${query}`, '/w', `/w${request}`)).toEqual({
      ok: false,
      message: `The query parameter "${name}" is set by the seller.`,
    });
  });

  test('compares nested parameters at up to 100 levels, so that long names take little time and memory', () => {
    const { reserved } = parseUpstream(`https://a.test/x?key${'['.repeat(2_000)}=s`);
    expect(reserved.parents.size).toBe(100);
    expect(target('https://a.test/x?key=s', '/w', `/w?key${'[a]'.repeat(5_000)}=mine`)).toMatchObject({ ok: false });
    expect(target('https://a.test/x?key=s', '/w', `/w?${'['.repeat(15_000)}`)).toMatchObject({ ok: true });
  });

  test("doesn't compare parents that are longer than the seller's names", () => {
    const name = `${'k'.repeat(2_000)}${'[a]'.repeat(100)}`;
    expect(parameterNames(name).parents.size).toBe(100);
    expect(parameterNames(name, 'key'.length).parents.size).toBe(0);
  });

  test('can get up to 2,000 nested parameters that must be compared', () => {
    const nested = (count: number) =>
      `/w?${Array.from({ length: count }, (_, index) => `${index}${'['.repeat(40)}`).join('&')}`;
    const upstreamUrl = `https://a.test/x?${'k'.repeat(100)}=s`;
    expect(target(upstreamUrl, '/w', nested(40))).toMatchObject({ ok: true });
    expect(target(upstreamUrl, '/w', nested(60))).toEqual({
      ok: false,
      message: 'The query has too many nested parameters.',
    });
    expect(target('https://a.test/x?k=s', '/w', nested(60))).toMatchObject({ ok: true });
  });

  test('reads the names in an upstream URL once, and not for each request', () => {
    const urlOf = (index: number) => `https://a.test/x?${index}[&key=s`;
    const first = parseUpstream(urlOf(0)).reserved;
    for (let index = 1; index < 500; index++) parseUpstream(urlOf(index));
    expect(parseUpstream(urlOf(0)).reserved).toBe(first);
    // The URL that was used least recently is forgotten.
    const second = parseUpstream(urlOf(1)).reserved;
    for (let index = 500; index < 1_000; index++) parseUpstream(urlOf(index));
    expect(parseUpstream(urlOf(1)).reserved).not.toBe(second);
    expect(parseUpstream(urlOf(1)).reserved).toEqual(second);
  });

  test("can have other query parameters next to the seller's", () => {
    expect(target('https://a.test/x?filter[tenant]=s', '/w', '/w?filter[city]=Bern&keys=1')).toMatchObject({
      path: '/x?filter[tenant]=s&filter[city]=Bern&keys=1',
    });
  });
});
