import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { redactSecret, scrub, scrubberOf } from '../../src/secrets/redact.ts';
import { spellingsOf } from '../../src/secrets/spellings.ts';

describe('redactSecret', () => {
  test.each([
    ['', '••••'],
    ['short', '••••'],
    ['elevenchars', '••••'],
    ['twelve-chars', '••••hars'],
    ['xoxb-1234567890-abcdef', '••••cdef'],
    ['twelve-chars👍👍', '••••rs👍👍'],
  ])('%j is shown as %j', (value, shown) => {
    expect(redactSecret(value)).toBe(shown);
  });

  test('never shows more than the last four characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const shown = redactSecret(value).slice(4);
        expect([...shown].length).toBeLessThanOrEqual(4);
        expect(value.endsWith(shown)).toBe(true);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });
});

const SECRET_URL = `https://prod-12.westeurope.logic.azure.com/workflows/${randomBytes(16).toString('hex')}/triggers/manual/paths/invoke?api-version=2016-10-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=${token(43)}`;
const SECRET = 'k"ey/+ü&<s>\\ 1\'2\n3=?';

describe('scrub', () => {
  test.each([
    ['unchanged', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ['URL-encoded in lowercase', encodeURIComponent(SECRET).replace(/%../g, (octet) => octet.toLowerCase())],
    ['form-encoded', new URLSearchParams({ key: SECRET }).toString()],
    ['as JSON', JSON.stringify({ key: SECRET })],
    ['as JSON in ASCII with escaped slashes', JSON.stringify(SECRET).replaceAll('/', '\\/').replaceAll('ü', '\\u00fc')],
    ['in HTML', 'k&quot;ey/+ü&amp;&lt;s&gt;\\ 1&#39;2\n3=?'],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['in Basic authentication', Buffer.from(`account:${SECRET}`).toString('base64')],
    ['in a longer base64 text', Buffer.from(`{"key":"${SECRET}","more":true}`).toString('base64url')],
  ])('masks the secret %s', (_how, text) => {
    const scrubbed = scrub(`before ${text} after`, [SECRET]);
    expect(scrubbed).toMatch(/^before .*••••.* after$/s);
    for (const trace of ['ey/', 'ey%2', 'ey\\/', Buffer.from(SECRET).toString('base64').slice(4, -8)]) {
      expect(scrubbed).not.toContain(trace);
    }
  });

  test.each([
    ['JSON from Go, which escapes characters of HTML', String.raw`k\"ey/+ü\u0026\u003cs\u003e\\ 1'2\n3=?`],
    ['JSON from .NET', String.raw`k\u0022ey/\u002B\u00FC\u0026\u003Cs\u003E\\ 1\u00272\n3=?`],
    ['JSON from Gson', String.raw`k\"ey/+ü\u0026\u003cs\u003e\\ 1\u00272\n3\u003d?`],
    ['JSON within JSON', JSON.stringify(JSON.stringify({ key: SECRET }))],
    ['HTML from Go', 'k&#34;ey/+ü&amp;&lt;s&gt;\\ 1&#39;2\n3=?'],
    ['HTML from Python', 'k&quot;ey/+ü&amp;&lt;s&gt;\\ 1&#x27;2\n3=?'],
    ['HTML from PHP', 'k&quot;ey/+ü&amp;&lt;s&gt;\\ 1&#039;2\n3=?'],
    ['HTML from Mustache', 'k&quot;ey&#x2F;+ü&amp;&lt;s&gt;\\ 1&#39;2\n3&#x3D;?'],
    ['the text of XML', 'k"ey/+ü&amp;&lt;s&gt;\\ 1\'2\n3=?'],
    ['an attribute in XML', 'k&quot;ey/+ü&amp;&lt;s&gt;\\ 1&apos;2\n3=?'],
    ['HTML within JSON', JSON.stringify('k&quot;ey/+ü&amp;&lt;s&gt;\\ 1&#39;2\n3=?')],
    ['a URL, where only some characters are escaped', encodeURI(SECRET).replaceAll('%C3%BC', 'ü')],
    [
      'a URL, where all other characters are escaped',
      encodeURIComponent(SECRET).replace('%C3%BC', 'ü').replace("'", '%27'),
    ],
  ])('masks a secret as other libraries escape it: %s', (_how, text) => {
    expect(scrub(`before ${text} after`, [SECRET])).toMatch(/^before [\\{}"key:]*••••[\\"}]* after$/);
  });

  test('masks the beginning of an escaped secret, even if the text was cut off within an escape', () => {
    const text = String.raw`before k\"ey/+ü\u0026\u00`;
    expect(scrubberOf([SECRET])(text, true)).toBe('before ••••');
  });

  test('does not mask text that is only similar to an escaped secret', () => {
    const text = String.raw`k\"ey/+ü\u0026\u003ct &amp; %20 \u12 &#; % \ `;
    expect(scrub(text, [SECRET, '&lt;&gt;'])).toBe(text);
  });

  test('masks a secret anywhere and in any encoding', () => {
    const spellings = [
      (text: string) => text,
      encodeURIComponent,
      (text: string) => JSON.stringify(text).slice(1, -1),
      (text: string) => Buffer.from(text).toString('base64'),
    ];
    const secret = fc.string({ minLength: 8, unit: 'grapheme' }).filter((text) => text.trim().length >= 8);
    fc.assert(
      fc.property(fc.string(), secret, fc.string(), fc.constantFrom(...spellings), (before, value, after, spell) => {
        fc.pre(!before.includes(spell(value)) && !after.includes(spell(value)));
        expect(scrub(before + spell(value) + after, [value])).not.toContain(spell(value));
      }),
      { numRuns: 500 },
    );
  });

  test('masks base64 at every alignment', () => {
    for (let offset = 0; offset < 9; offset++) {
      const text = Buffer.from(`${'x'.repeat(offset)}sk_live_abcdefghijkl and more`).toString('base64');
      const scrubbed = scrub(text, ['sk_live_abcdefghijkl']);
      expect(Buffer.from(scrubbed.replace('••••', ''), 'base64').toString()).not.toContain('live');
      expect(scrubbed).toContain('••••');
    }
  });

  test('masks long runs of letters and digits in repeatedly escaped text', () => {
    const secret = 'AbCdEfGh12345678+/="\\zYxWvUtS87654321';
    let text = `bad key ${secret}`;
    for (let depth = 0; depth < 4; depth++) {
      text = JSON.stringify({ message: text });
      for (const run of ['AbCdEfGh12345678', 'zYxWvUtS87654321']) expect(scrub(text, [secret])).not.toContain(run);
    }
  });

  test('masks the path, token, and signature of a secret URL, even without the host', () => {
    const url = 'https://hooks.example.com/services/T0000000/B0000000/AbCdEfGhIjKlMnOpQrStUvWx?sig=0123456789abcdef%3D';
    const texts = [
      url,
      'POST /services/T0000000/B0000000/AbCdEfGhIjKlMnOpQrStUvWx?sig=0123456789abcdef%3D',
      'Cannot POST /services/T0000000/B0000000/AbCdEfGhIjKlMnOpQrStUvWx',
      'invalid token AbCdEfGhIjKlMnOpQrStUvWx',
      'wrong signature 0123456789abcdef=',
    ];
    for (const text of texts) {
      expect(scrub(text, [url])).toContain('••••');
      expect(scrub(text, [url])).not.toMatch(/QrStUvWx|6789abcdef/);
    }
    expect(scrub('hooks.example.com/services is down', [url])).toBe('hooks.example.com/services is down');
  });

  test('masks all of a secret that contains another one', () => {
    expect(scrub('abcdefgh-ijklmnop', ['abcdefgh', 'abcdefgh-ijklmnop'])).toBe('••••');
  });

  test('masks all of two occurrences that overlap', () => {
    expect(scrub('<abc-abc-abc>', ['abc-abc'])).toBe('<••••>');
    expect(scrub('<first-second-third>', ['first-second', 'second-third'])).toBe('<••••>');
  });

  test('masks exactly what replacing the spellings one by one would mask, unless two of them overlap', () => {
    let masked = 0;
    fc.assert(
      fc.property(secretsAndText, ([secrets, text]) => {
        const spellings = [...new Set(spellingsOf(secrets))].filter((spelling) => spelling !== '');
        fc.pre(!hasOverlap(spellings, text));
        const expected = replaceInTurn(spellings, text);
        if (expected !== text) masked++;
        const scrubbed = scrub(text, secrets);
        // More than the spellings may be masked in text that is escaped in other ways.
        expect(scrubbed).toBe(/[\\&%]/.test(text) ? replaceInTurn(spellings, scrubbed) : expected);
      }),
      { numRuns: 500 },
    );
    expect(masked).toBeGreaterThan(100);
  });

  test.each([
    ['a token of 4 KB in a header, an OAuth client, and a secret URL', [token(4_096), token(40), SECRET_URL]],
    ['20 headers with tokens of 200 characters', Array.from({ length: 20 }, () => `Bearer ${token(200)}`)],
    ["a Google service account's key and an access token of 1 KB", [serviceAccountKey(), token(1_024)]],
  ])('masks only the secrets of a destination with %s', (_which, secrets) => {
    const all = [`whsec_${randomBytes(32).toString('base64')}`, ...secrets];
    for (const secret of all) expect(scrub(`nothing to hide, ${secret}`, all)).toBe('nothing to hide, ••••');
  });

  test('masks all text if the spellings are longer than 65,536 characters', () => {
    const secret = Array.from({ length: 2_000 }, (_, index) => `AbCdEfGh1234${1_000 + index}`).join(' ');
    const longest = Array.from({ length: 250 }, (_, index) => index + 10).findLast((count) => {
      return scrub('nothing to hide', [secret.slice(0, 17 * count)]) !== '••••';
    })!;
    const spelled = (count: number) => [...new Set(spellingsOf([secret.slice(0, 17 * count)]))].join('').length;
    expect(spelled(longest)).toBeLessThanOrEqual(65_536);
    expect(spelled(longest + 1)).toBeGreaterThan(65_536);
    expect(scrub('nothing to hide', [secret])).toBe('••••');
    expect(scrub('', [secret])).toBe('');
  });

  test('does not change text without secrets, even if a secret is empty or invalid Unicode', () => {
    expect(scrub('nothing to hide', ['', '\ud800broken-surrogate', 'other-secret'])).toBe('nothing to hide');
  });

  test('does not interpret replacement patterns', () => {
    expect(scrub("$& secret-value $'", ['secret-value'])).toBe("$& •••• $'");
  });
});

describe('spellings', () => {
  test.each([16, 200, 2_048])('take at most ten times the length of a token of %i characters', (length) => {
    expect([...new Set(spellingsOf([token(length)]))].join('').length).toBeLessThanOrEqual(10 * length);
  });

  test('are made only until they are too long', () => {
    expect(spellingsEncoded(() => scrub('nothing to hide', [`Key ${randomText(500_000)}`]))).toBe(0);
    expect(spellingsEncoded(() => scrub('nothing to hide', [`Key ${randomText(50)}`]))).toBeGreaterThan(0);
  });

  test.each([3_000, 7_000])('are made once for 40 destinations with %i random characters each', (length) => {
    const destinations = Array.from({ length: 40 }, () => [`Key ${randomText(length)}`]);
    const scrubAll = () => destinations.map((secrets) => scrub('nothing to hide', secrets));
    scrubAll();
    expect(spellingsEncoded(scrubAll)).toBe(0);
  });

  test('are made once for an ordinary destination, even while 150 others have very long secrets', () => {
    const ordinary = [
      `whsec_${randomBytes(32).toString('base64')}`,
      'https://hooks.example.com/services/T0/B0/AbCdEf12',
    ];
    expect(scrub('nothing to hide', ordinary)).toBe('nothing to hide');
    for (let index = 0; index < 150; index++) {
      expect(scrub('nothing to hide', [`Key ${randomText(3_000)}`])).toBe('nothing to hide');
    }
    expect(spellingsEncoded(() => scrub('nothing to hide', ordinary))).toBe(0);
  });
});

function randomText(length: number): string {
  return randomBytes(length).toString('base64').slice(0, length);
}

/** Returns how many spellings `work` URL-encodes. Every secret with a character that needs encoding has at least one. */
function spellingsEncoded(work: () => void): number {
  const encode = vi.spyOn(globalThis, 'encodeURIComponent');
  work();
  const { length } = encode.mock.calls;
  encode.mockRestore();
  return length;
}

/** Like a JSON Web Token. */
function token(length: number): string {
  return `eyJhbGciO.${randomBytes(length).toString('base64url')}`.slice(0, length);
}

function serviceAccountKey(): string {
  const key = randomBytes(1_218).toString('base64').replace(/.{64}/g, '$&\n');
  const account = 'tollgate@example-project.iam.gserviceaccount.com';
  const document = {
    type: 'service_account',
    project_id: 'example-project',
    private_key_id: randomBytes(20).toString('hex'),
    private_key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
    client_email: account,
    client_id: '123456789012345678901',
    auth_uri: 'https://accounts.google.com/o/oauth2/auth',
    token_uri: 'https://oauth2.googleapis.com/token',
    auth_provider_x509_cert_url: 'https://www.googleapis.com/oauth2/v1/certs',
    client_x509_cert_url: `https://www.googleapis.com/robot/v1/metadata/x509/${encodeURIComponent(account)}`,
    universe_domain: 'googleapis.com',
  };
  return JSON.stringify(document, null, 2);
}

const secrets = fc.array(
  fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 4, maxLength: 30 }),
    fc.stringMatching(/^[Ab1]{16,20}[&ü /]?[Ab1]{0,20}$/),
    fc.stringMatching(/^https:\/\/a\.b\/c\/[Ab1]{6,9}\?d=[Ab1]{6,9}%3D$/),
  ),
  { minLength: 1, maxLength: 3 },
);

/** Secrets, and text that contains spellings of them, in whole or in part. */
const secretsAndText = secrets.chain((list) => {
  const spelling = fc.constantFrom(...spellingsOf(list));
  const part = fc.tuple(spelling, fc.nat(20), fc.nat(20)).map(([text, start, end]) => text.slice(start, -end));
  const pieces = fc.array(fc.oneof(spelling, part, fc.string()), { maxLength: 6 });
  return fc.tuple(
    fc.constant(list),
    pieces.map((all) => all.join('')),
  );
});

function replaceInTurn(spellings: readonly string[], text: string): string {
  const longestFirst = spellings.toSorted((one, other) => other.length - one.length);
  return longestFirst.reduce((rest, spelling) => rest.replaceAll(spelling, '••••'), text);
}

/** Whether two spellings share a part of the text, and neither contains the other there. */
function hasOverlap(spellings: readonly string[], text: string): boolean {
  const places = spellings.flatMap((spelling) =>
    text
      .split('')
      .flatMap((_, start) => (text.startsWith(spelling, start) ? [{ start, end: start + spelling.length }] : [])),
  );
  return places.some((one) =>
    places.some((other) => one.start < other.start && other.start < one.end && one.end < other.end),
  );
}
