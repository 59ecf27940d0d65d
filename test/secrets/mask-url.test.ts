import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MASK } from '../../src/secrets/mask.ts';
import { hiddenParts, maskUrl } from '../../src/secrets/mask-url.ts';
import { scrub } from '../../src/secrets/redact.ts';
import { urls } from './urls.ts';

describe('a masked URL', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://api.example.com/', 'https://api.example.com/'],
    ['https://api.example.com:8443/weather', 'https://api.example.com:8443/weather'],
    ['https://api.example.com/weather?key=yours', 'https://api.example.com/weather?key=••••'],
    ['https://api.example.com/weather/:city', 'https://api.example.com/weather/••••'],
    ['https://hooks.slack.com/services/T0/B0/abcdef', 'https://hooks.slack.com/services/••••/••••/••••'],
    ['https://discord.com/api/webhooks/123/abc-DEF', 'https://discord.com/api/••••/••••/••••'],
    ['https://hooks.zapier.com/hooks/catch/1/abcdefg/', 'https://hooks.zapier.com/hooks/••••/••••/••••/'],
    ['https://hook.eu1.make.com/q8x1k2m3n4b5v6c7', 'https://hook.eu1.make.com/••••'],
    ['https://rpc.example.com/v2/abcdef', 'https://rpc.example.com/v2/••••'],
    ['https://rpc.example.com/Key', 'https://rpc.example.com/••••'],
    ['https://user:word@example.com/in', 'https://••••@example.com/in'],
    ['https://a@b@example.com/in', 'https://••••@example.com/in'],
    ['https://example.com?a=1&b=&c&&d==e', 'https://example.com?a=••••&••••&••••&&••••'],
    ['https://example.com/in?dG9rZW4=', 'https://example.com/in?••••'],
    ['https://example.com/in?0123456789abcdef0123456789abcdef=1', 'https://example.com/in?••••'],
    ['https://example.com/in#key', 'https://example.com/in#••••'],
    ['HTTP://Example.com/in?K=V', 'HTTP://Example.com/in?K=••••'],
    ['https://example.com\\@secret', '••••'],
    ['https:///secret', '••••'],
    ['secret', '••••'],
    ['', '••••'],
  ])('turns %s into %s', (url, masked) => {
    expect(maskUrl(url)).toBe(masked);
  });

  test('stays the same when it is masked again', () => {
    const texts = fc.oneof(urls, fc.string());
    fc.assert(fc.property(texts, (url) => void expect(maskUrl(maskUrl(url))).toBe(maskUrl(url))));
  });

  test('keeps the origin, the number of segments, and the number of parameters', () => {
    const shape = (url: string) => {
      const [path, query = ''] = url.split('#')[0]!.split(/\?(.*)/s);
      return [new URL(url).origin, path!.split('/').length, query.split('&').length];
    };
    const readable = urls.filter((url) => URL.canParse(url) && maskUrl(url) !== MASK);
    fc.assert(fc.property(readable, (url) => void expect(shape(maskUrl(url))).toEqual(shape(url))));
  });

  test('never contains query values, user names, passwords, or segments that are not plain words', () => {
    const token = fc.stringMatching(/^[A-Za-z0-9%~._-]{0,20}#[A-Za-z0-9]{8}$/).map((text) => text.replace('#', 'Q7'));
    const name = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(fc.array(token, { minLength: 4, maxLength: 6 }), fc.array(name), (secrets, names) => {
        const [user, password, first, value, ...more] = secrets;
        const query = names.map((each) => `&${each}=${value}`).join('');
        const url = `https://${user}:${password}@example.com/${first}/in/${more.join('/')}?${value}${query}#${value}`;
        const shown = maskUrl(url);
        for (const secret of secrets) expect(shown).not.toContain(secret);
        for (const each of names) expect(shown).toContain(`&${each}=••••`);
      }),
    );
  });
});

describe('the hidden parts of a URL', () => {
  const url = 'https://example.com/hooks/tollgate/ab%2Fc12d?token=p%C3%A4ssw%C3%B6rd+1&short=xyz';

  test.each([
    ['the path', '/hooks/tollgate/ab%2Fc12d'],
    ['the request target', '/hooks/tollgate/ab%2Fc12d?token=p%C3%A4ssw%C3%B6rd+1&short=xyz'],
    ['a segment', 'ab%2Fc12d'],
    ['a segment, decoded', 'ab/c12d'],
    ['a value', 'p%C3%A4ssw%C3%B6rd+1'],
    ['a value with lowercase escapes', 'p%c3%a4ssw%c3%b6rd+1'],
    ['a value, decoded', 'pässwörd 1'],
    ['a value in JSON', '"p\\u00e4ssw\\u00f6rd 1"'],
    ['a value in base64', Buffer.from('pässwörd 1').toString('base64')],
    ['a short value with its name', 'short=xyz'],
  ])('are masked in other text: %s', (_what, text) => {
    expect(scrub(`before ${text} after`, [url])).toMatch(/^before "?••••"? after$/);
  });

  test('do not include common words or short pieces, and are empty if nothing is hidden', () => {
    expect(scrub('Tell tollgate at example.com about xyz: hooks.', [url])).toBe(
      'Tell tollgate at example.com about xyz: hooks.',
    );
    expect(hiddenParts('https://example.com/webhooks')).toEqual([]);
  });
});
