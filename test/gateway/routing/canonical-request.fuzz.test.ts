import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../src/features/endpoints/path.ts';
import { canonicalRequest } from '../../../src/gateway/routing/canonical-request.ts';

const path = (target: string) => {
  const result = canonicalRequest(target);
  return result.ok ? result.path : undefined;
};

const anyTarget = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '/',
        '.',
        '%',
        '%2',
        '%2e',
        '%2F',
        '%25',
        '%5c',
        '%c2',
        '%85',
        '%41',
        '\\',
        ';',
        ':',
        '*',
        '?',
        'a',
      ),
      fc.string(),
    ),
    {
      maxLength: 24,
    },
  )
  .map((parts) => `/${parts.join('')}`);

describe('for any request target', () => {
  test('canonicalizing twice changes nothing', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const first = canonicalRequest(target);
        if (!first.ok) return;
        expect(canonicalRequest(first.path + first.query)).toEqual(first);
      }),
      { numRuns: 20_000 },
    );
  });

  test('an accepted query is what a URL parser makes of it', () => {
    const query = fc.array(fc.oneof(fc.constantFrom(...`'"<>%\\&=+[]^|\`{}`), fc.string()), { maxLength: 24 });
    let accepted = 0;
    fc.assert(
      fc.property(query, (parts) => {
        const result = canonicalRequest(`/w?${parts.join('')}`);
        if (!result.ok) return;
        accepted += 1;
        // The WHATWG URL Standard has no search for a lone question mark, which isn't forwarded either.
        expect(new URL(`http://upstream.test/w${result.query}`).search).toBe(result.query === '?' ? '' : result.query);
      }),
      { numRuns: 20_000 },
    );
    expect(accepted).toBeGreaterThan(1_000);
  });

  test('an accepted path means the same to a URL parser, to one that decodes first, and to one that decodes twice', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const result = canonicalRequest(target);
        if (!result.ok) return;
        const { path: canonical } = result;
        expect(new URL(`http://upstream.test${canonical}`).pathname).toBe(canonical);
        for (const seen of [canonical, decodeURIComponent(canonical), twiceDecoded(canonical)]) {
          const segments = seen.slice(1).split('/');
          expect(segments).toHaveLength(result.segments.length);
          expect(segments.slice(0, -1)).not.toContain('');
          for (const segment of segments) expect(segment.split(';')[0]).not.toMatch(/^\.{1,2}$/);
          expect(seen).not.toMatch(/[\\\p{Cc}]/u);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  test('every stored path without placeholders can be requested', () => {
    fc.assert(
      fc.property(anyTarget, (target) => {
        const stored = canonicalPath(target);
        if (!stored.ok || /\/[:*]/.test(stored.path)) return;
        expect(path(stored.path)).toBe(stored.path);
      }),
      { numRuns: 20_000 },
    );
  });
});

/** Decodes like a server that decodes twice, if that is possible. */
function twiceDecoded(text: string): string {
  const once = decodeURIComponent(text);
  try {
    return decodeURIComponent(once);
  } catch {
    return once;
  }
}
