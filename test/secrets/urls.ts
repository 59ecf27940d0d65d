import fc from 'fast-check';

const piece = fc.oneof(
  fc.stringMatching(/^[a-z_-]{0,22}[0-9]{0,3}$/),
  fc.stringMatching(/^[A-Za-z0-9%=@:;.,+~*!$'()[\]-]{0,30}$/),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constant('••••'),
);
const maybe = (mark: string, text: fc.Arbitrary<string>) =>
  fc.oneof(
    fc.constant(''),
    text.map((found) => mark + found),
  );

/** URLs and similar text, with everything that masking depends on and only characters that PostgreSQL can store. */
export const urls: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('https://', 'http://', 'HTTPS://', 'hTtp://', 'ftp://', 'https:/', ''),
    maybe(
      '',
      piece.map((text) => `${text}@`),
    ),
    fc.constantFrom('example.com', 'example.com:8443', '[::1]:80', 'xn--bcher-kva.example', 'bücher.example', ''),
    maybe(
      '/',
      fc.array(piece, { maxLength: 5 }).map((segments) => segments.join('/')),
    ),
    maybe(
      '?',
      fc
        .array(
          fc.oneof(
            piece,
            fc.tuple(piece, piece).map((pair) => pair.join('=')),
          ),
          { maxLength: 4 },
        )
        .map((all) => all.join('&')),
    ),
    maybe('#', piece),
  )
  .map((parts) => parts.join('').replaceAll('\0', '').toWellFormed());
