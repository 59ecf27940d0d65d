import fc from 'fast-check';

/** Strings that often break programs: control characters, lone surrogates, lookalikes, bidirectional text, and code. */
const KNOWN = [
  '\0',
  '\ud800',
  '\udfff\ud800',
  '\uFEFF',
  '\u202Egnp.exe',
  'مرحبا بالعالم',
  '👩‍👩‍👧‍👦',
  'Ω≈ç√∫˜µ≤≥÷',
  'Z̮̞̠͙͔ͅḀ̗̞͈̻̗Ḷ͙͎̯̹̞͓G̻O̭̗̮',
  'ﷺ',
  '\u2028\u2029\u0085',
  `'; DROP TABLE "Project"; --`,
  '" OR ""="',
  '%s%n%x',
  '$\u007b7*7} {{7*7}} <%= 7*7 %>',
  '../../../../etc/passwd',
  '<script>alert(1)</script>',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e309',
  '\\',
  '\\u0000',
  '__proto__',
  'constructor',
  'a\r\nSet-Cookie: x=1',
];

/** Any text, including lone surrogates and very long strings. */
export function hostileText(maxLength = 300): fc.Arbitrary<string> {
  const anyUnits = fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength })
    .map((units) => String.fromCharCode(...units));
  return fc.oneof(
    { weight: 3, arbitrary: fc.string({ maxLength }) },
    { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength }) },
    { weight: 3, arbitrary: anyUnits },
    { weight: 4, arbitrary: fc.constantFrom(...KNOWN) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.string({ maxLength }), fc.string({ maxLength })).map((parts) => parts.join('\0')),
    },
    { weight: 1, arbitrary: fc.constantFrom(1_000, 5_000, 100_000).map((length) => 'x'.repeat(length)) },
  );
}

/** Any JSON value that contains hostile text. */
export function hostileJson(): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      hostileText(),
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string({ maxLength: 12 }), tie('value'), { maxKeys: 4 }),
    ),
  }));
  return value;
}

/** A well-formed event filter that contains hostile text. */
export function hostileFilter(): fc.Arbitrary<unknown> {
  const condition = fc.oneof(
    fc
      .tuple(fc.constantFrom('eq', 'ne', 'gt', 'lte', 'startsWith', 'contains'), hostileText())
      .map(([operator, text]) => ({ 'data.path': { [operator]: text } })),
    fc.array(hostileText(20), { minLength: 1, maxLength: 3 }).map((texts) => ({ 'data.path': { in: texts } })),
    hostileText().map((text) => ({ 'data.path': text })),
  );
  return fc.oneof(
    condition,
    condition.map((inner) => ({ not: inner })),
    fc.array(condition, { minLength: 1, maxLength: 3 }).map((inner) => ({ or: inner })),
  );
}
