import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { EVENT_FIELDS } from '../../src/events/fields.ts';
import { compareDecimals, matchesFilter } from '../../src/events/filter.ts';
import { eventFilterInput, FILTER_LIMITS, readFilter } from '../../src/events/filter-input.ts';
import { SAMPLE_PAYLOADS } from '../../src/events/samples.ts';
import { containsText } from '../../src/events/text-search.ts';
import { EVENT_PAYLOADS, EVENT_TYPES, type EventType } from '../../src/events/types.ts';

type Data = Record<string, unknown>;
type Json = Record<string, unknown>;

const settled = { type: 'payment.settled', data: SAMPLE_PAYLOADS['payment.settled'] };
const matches = (filter: unknown, data: Data = {}, type: string = settled.type) =>
  matchesFilter(readFilter(filter), { type, data: { ...settled.data, ...data } });

/** Returns a filter's issues, as paths with messages. */
function issuesOf(filter: unknown): string[] {
  const result = eventFilterInput.safeParse(filter);
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('/')}: ${message}`);
}

test('a filter can name every field of every event type, except lists', () => {
  const names = EVENT_TYPES.flatMap((eventType) =>
    Object.keys(EVENT_PAYLOADS[eventType].shape).map((name) => `data.${name}`),
  );
  const expected = new Set(['type', ...names.filter((name) => name !== 'data.topEndpoints')]);
  expect(new Set(EVENT_FIELDS.keys())).toEqual(expected);
});

test('a field has the same data type in every event type that has it', () => {
  const typeOf = (value: unknown) => (typeof value === 'number' ? 'integer' : 'text');
  for (const [name, { type }] of EVENT_FIELDS) {
    if (name === 'type') continue;
    const values = EVENT_TYPES.map((eventType) => (SAMPLE_PAYLOADS[eventType] as Data)[name.slice(5)]);
    for (const value of values.filter((value) => value !== undefined && value !== null)) {
      expect(typeOf(value), name).toBe(type === 'decimal' ? 'text' : type);
    }
  }
});

describe('a filter', () => {
  test.each<[string, Json, Data, boolean]>([
    ['a value alone means equal to', { 'data.method': 'GET' }, {}, true],
    ['several fields must all match', { 'data.method': 'GET', 'data.asset': 'EURC' }, {}, false],
    ['several operators must all match', { 'data.amountUsd': { gte: '0.01', lt: '0.01' } }, {}, false],
    ['or: at least one filter must match', { or: [{ 'data.method': 'PUT' }, { 'data.asset': 'USDC' }] }, {}, true],
    ['and: all filters must match', { and: [{ 'data.method': 'GET' }, { 'data.asset': 'EURC' }] }, {}, false],
    ['not', { not: { 'data.method': 'GET' } }, {}, false],
    ['in', { 'data.method': { in: ['PUT', 'GET'] } }, {}, true],
    ['startsWith', { 'data.endpointPath': { startsWith: '/wea' } }, {}, true],
    ['contains', { 'data.endpointPath': { contains: 'eat' } }, {}, true],
    ['text is case-sensitive', { 'data.method': 'get' }, {}, false],
    ['the event type', { type: { in: ['payment.settled', 'payment.failed'] } }, {}, true],
    ['amounts are numbers: 10 is greater than 9', { 'data.amountUsd': { gt: '9' } }, { amountUsd: '10' }, true],
    ['amounts are numbers: 1.50 equals 1.5', { 'data.amountUsd': '1.50' }, { amountUsd: '1.5' }, true],
    ['amounts are exact', { 'data.amountUsd': '0.3' }, { amountUsd: '0.300000000000000001' }, false],
    [
      'integers beyond the precision of a float are exact',
      { 'data.amountAtomic': '9007199254740993' },
      { amountAtomic: '9007199254740992' },
      false,
    ],
    ['null does not match any comparison', { 'data.customerId': { ne: 'cus_1' } }, { customerId: null }, false],
    ['null does not exist', { 'data.customerId': { exists: false } }, { customerId: null }, true],
    ['a field of another event type does not match any comparison', { 'data.stage': { ne: 'verify' } }, {}, false],
    ['a field of another event type does not exist', { 'data.stage': { exists: false } }, {}, true],
    ['not with a field of another event type matches', { not: { 'data.stage': 'verify' } }, {}, true],
  ])('%s', (_name, filter, data, expected) => {
    expect(issuesOf(filter)).toEqual([]);
    expect(matches(filter, data)).toBe(expected);
  });

  test('ignores inherited properties of the event data', () => {
    const node = { kind: 'condition', field: 'data.toString', operator: 'exists', operand: true } as const;
    expect(matchesFilter(node, settled)).toBe(false);
  });

  test('matches nothing if a field or operator no longer exists', () => {
    expect(matches({ 'data.gone': { ne: 'x' } })).toBe(false);
    expect(matches({ 'data.method': { like: 'G' } })).toBe(false);
  });
});

/** Every event is compared with the filters of all its destinations, before the process does anything else. */
describe('the largest filters are cheap to evaluate, because', () => {
  const DESTINATIONS = 200;

  test('amounts in a list are compared as text, not converted to numbers', () => {
    const amounts = Array.from({ length: 900 }, (_, index) => String((index % 9) + 1));
    const node = readFilter({ 'data.amountUsd': { in: amounts } });
    const convert = vi.spyOn(globalThis, 'BigInt');
    const data = { ...settled.data, amountUsd: '12345.678901' };
    const results = Array.from({ length: DESTINATIONS }, () => matchesFilter(node, { ...settled, data }));
    const conversions = convert.mock.calls.length;
    convert.mockRestore();
    expect(new Set(results)).toEqual(new Set([false]));
    expect(conversions).toBe(0);
  });

  test('a long value is searched from start to end only a few times, no matter how many destinations there are', () => {
    const path = `/${'a'.repeat(2000)}`;
    const part = (index: number) => `${'a'.repeat(1 + (index % 9))}b`;
    const node = readFilter({
      or: Array.from({ length: 50 }, (_, index) => ({ 'data.endpointPath': { contains: part(index) } })),
    });
    const search = vi.spyOn(String.prototype, 'includes');
    const data = { ...settled.data, endpointPath: path };
    const results = Array.from({ length: DESTINATIONS }, () => matchesFilter(node, { ...settled, data }));
    const searches = search.mock.contexts.filter((text) => String(text) === path).length;
    search.mockRestore();
    expect(new Set(results)).toEqual(new Set([false]));
    expect(searches).toBeLessThanOrEqual(50);
  });
});

describe('a long value', () => {
  test('contains the same texts, however often it is searched', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 300 });
    fc.assert(
      fc.property(letters, fc.array(letters, { maxLength: 10 }), fc.nat(), (tail, others, at) => {
        const value = `${'ab'.repeat(40)}${tail}`;
        const found = value.slice(at % value.length, (at % value.length) + 20);
        const texts = [...others, found, `${found}b`, value, `${value}a`].filter((text) => text !== '');
        for (let round = 0; round < 60; round++) {
          for (const text of texts) expect(containsText(value, text)).toBe(value.indexOf(text) !== -1);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('an invalid filter', () => {
  const deep = (levels: number): Json => (levels === 0 ? { 'data.method': 'GET' } : { not: deep(levels - 1) });

  test.each<[unknown, string]>([
    ['GET', ': Must be an object that contains conditions.'],
    [[], ': Must be an object that contains conditions.'],
    [{}, ': Must have at least one condition.'],
    [{ 'data.amout': '1' }, 'data.amout: No event type has a filterable field "data.amout".'],
    [{ amountUsd: '1' }, 'amountUsd: No such field. Did you mean data.amountUsd?'],
    [
      { 'data.topEndpoints': { exists: true } },
      'data.topEndpoints: No event type has a filterable field "data.topEndpoints".',
    ],
    [{ 'data.method': {} }, 'data.method: Must have at least one operator.'],
    [
      { 'data.method': { like: 'G' } },
      `data.method/like: Must be one of eq, ne, in, gt, gte, lt, lte, exists, startsWith, contains.`,
    ],
    [{ 'data.amountUsd': { gte: 1 } }, 'data.amountUsd/gte: Must be a decimal string, for example, "1.00".'],
    [{ 'data.amountUsd': { gte: '1e3' } }, 'data.amountUsd/gte: Must be a decimal string, for example, "1.00".'],
    [
      { 'data.amountUsd': { startsWith: '1' } },
      'data.amountUsd/startsWith: Text operators can’t be used with this field.',
    ],
    [{ 'data.paymentCount': '5' }, 'data.paymentCount: Must be a whole number.'],
    [{ 'data.customerId': null }, 'data.customerId: Must not be null. Use the exists operator instead.'],
    [{ 'data.method': { in: [] } }, 'data.method/in: Must be a list of at least one value.'],
    [{ 'data.method': { in: ['GET', 1] } }, 'data.method/in: Must be a string.'],
    [{ 'data.method': { exists: 'yes' } }, 'data.method/exists: Must be true or false.'],
    [{ 'data.stage': 'later' }, 'data.stage: Must be one of verify, upstream, settle.'],
    [
      { 'data.stage': { gt: 'settle' } },
      'data.stage/gt: This field can’t be compared with greater-than or less-than operators.',
    ],
    [
      { type: 'payment.refunded' },
      `type: Must be one of ${EVENT_TYPES.join(', ')}. Did you mean \`payment.verified\`?`,
    ],
    [{ or: [] }, 'or: Must be a list of at least one filter.'],
    [{ and: [{ 'data.method': 'GET' }, 1] }, 'and/1: Must be an object that contains conditions.'],
    [{ not: [] }, 'not: Must be an object that contains conditions.'],
    [deep(FILTER_LIMITS.depth), `${Array(8).fill('not').join('/')}: Must not be nested more than 8 levels deep.`],
    [{ 'data.method': 'x'.repeat(5000) }, ': Must be at most 4096 bytes.'],
    [{ or: Array(51).fill({ 'data.method': 'GET' }) }, ': Must have at most 50 conditions.'],
    [{ 'data.method': '\ud800' }, 'data.method: Must be valid Unicode.'],
    [JSON.parse('{"__proto__": {"eq": "x"}}'), '__proto__: No event type has a filterable field "__proto__".'],
    [{ 'data.__proto__': { exists: true } }, 'data.__proto__: No event type has a filterable field "data.__proto__".'],
    [
      JSON.parse('{"data.method": {"__proto__": "x"}}'),
      'data.method/__proto__: Must be one of eq, ne, in, gt, gte, lt, lte, exists, startsWith, contains.',
    ],
    [{ constructor: 'x' }, 'constructor: No event type has a filterable field "constructor".'],
  ])('is rejected with the path of the error: %j', (filter, issue) => {
    const fields = issue.includes('filterable field') ? ` The fields are ${[...EVENT_FIELDS.keys()].join(', ')}.` : '';
    expect(issuesOf(filter)).toEqual([issue + fields]);
  });

  test('is rejected if it is nested 100,000 levels deep or has 100,000 conditions, without reading all of it', () => {
    const nested = JSON.parse(`${'{"not":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
    expect(issuesOf(nested)).toHaveLength(1);
    const lists = JSON.parse(`{"or":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    expect(issuesOf(lists)).toEqual(['or/0: Must be an object that contains conditions.']);
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field${index}`, 1]));
    expect(issuesOf(wide).length).toBeLessThanOrEqual(FILTER_LIMITS.conditions + 1);
  });

  test('exceeds a limit, and a filter exactly at the limits is accepted', () => {
    expect(issuesOf(deep(FILTER_LIMITS.depth - 1))).toEqual([]);
    expect(issuesOf({ or: Array(50).fill({ 'data.method': 'GET' }) })).toEqual([]);
  });
});

describe('for random values', () => {
  const decimal = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat({ max: 18 }), fc.nat({ max: 3 }))
    .map(([digits, places, zeros]) => {
      const text = digits.toString().padStart(places + 1, '0');
      const fraction = places === 0 ? '' : text.slice(-places);
      const padded = fraction + '0'.repeat(Math.min(zeros, 18 - places));
      return {
        text: `${text.slice(0, text.length - places)}${padded && `.${padded}`}`,
        value: [digits, places] as const,
      };
    });

  test('decimals are compared as numbers', () => {
    fc.assert(
      fc.property(decimal, decimal, (left, right) => {
        const scale = ([digits, places]: readonly [bigint, number]) => digits * 10n ** BigInt(18 - places);
        const difference = scale(left.value) - scale(right.value);
        expect(Math.sign(compareDecimals(left.text, right.text))).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
      }),
    );
  });

  // Uses few fields and few values, so that conditions often match.
  const fields: Record<string, fc.Arbitrary<string | number>> = {
    'data.amountUsd': fc.constantFrom('0', '0.01', '0.010', '0.1', '9', '10', '10.50'),
    'data.method': fc.constantFrom('GET', 'POST', 'P', 'get', ''),
    'data.customerId': fc.constantFrom('cus_1', 'cus_2', 'cus_12'),
    'data.paymentCount': fc.constantFrom(-1, 0, 9, 10),
  };
  const condition = fc.constantFrom(...Object.keys(fields)).chain((field) => {
    const value = fields[field]!;
    const operators = [
      ...['eq', 'ne', 'gt', 'gte', 'lt', 'lte'].map((operator) => value.map((operand) => ({ [operator]: operand }))),
      fc.array(value, { minLength: 1, maxLength: 3 }).map((operand) => ({ in: operand })),
      fc.boolean().map((operand) => ({ exists: operand })),
      ...(field === 'data.method' || field === 'data.customerId'
        ? [
            fc
              .constantFrom('c', 'P', '1', 'GET')
              .chain((text) => fc.constantFrom({ startsWith: text }, { contains: text })),
          ]
        : []),
    ];
    const shorthand: fc.Arbitrary<unknown> = value;
    const written = fc
      .array(fc.oneof(...operators), { minLength: 1, maxLength: 2 })
      .map((all) => Object.assign({}, ...all));
    return fc.oneof(shorthand, written).map((given) => ({ [field]: given }) as Json);
  });
  const { filter } = fc.letrec<{ filter: Json }>((tie) => ({
    filter: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      condition,
      fc.tuple(condition, condition).map(([left, right]) => ({ ...left, ...right })),
      fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
      fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
      fc.tuple(tie('filter'), condition).map(([not, beside]) => ({ not, ...beside })),
    ),
  }));
  const data = fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.slice(5), fc.option(value)])),
    { requiredKeys: [] },
  );

  /** A second, slower implementation that evaluates the written filter directly. */
  function naive(written: Json, event: Data): boolean {
    return Object.keys(written).every((key) => {
      const given = written[key];
      if (key === 'and') return !(given as Json[]).some((inner) => !naive(inner, event));
      if (key === 'or') return (given as Json[]).filter((inner) => naive(inner, event)).length > 0;
      if (key === 'not') return !naive(given as Json, event);
      const value = event[key.slice(5)] ?? null;
      const isAmount = key.endsWith('Usd');
      const number = (item: unknown) => (isAmount ? Math.round(Number(item) * 1000) : item);
      const operators: Json = typeof given === 'object' ? (given as Json) : { eq: given };
      return Object.entries(operators).every(([operator, operand]) => {
        if (operator === 'exists') return operand ? value !== null : value === null;
        if (value === null) return false;
        const [left, right] = [number(value) as number, number(operand) as number];
        if (operator === 'in') return (operand as unknown[]).map(number).includes(left);
        if (operator === 'startsWith') return new RegExp(`^${operand}`).test(String(value));
        if (operator === 'contains') return String(value).split(String(operand)).length > 1;
        const facts = { eq: left === right, ne: left !== right, gt: left > right, gte: left >= right };
        return { ...facts, lt: left < right, lte: left <= right }[operator];
      });
    });
  }

  test('a filter agrees with a second implementation', () => {
    let passed = 0;
    fc.assert(
      fc.property(
        filter,
        data,
        fc.constantFrom<EventType>('payment.settled', 'customer.milestone'),
        (written, event, type) => {
          expect(issuesOf(written)).toEqual([]);
          const expected = naive(written, event);
          if (expected) passed += 1;
          expect(matchesFilter(readFilter(written), { type, data: event })).toBe(expected);
        },
      ),
      { numRuns: 3000 },
    );
    expect(passed).toBeGreaterThan(300);
  });

  test('reading a filter never throws, no matter what JSON it gets', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 12 }), (text) => {
        const value = JSON.parse(text);
        eventFilterInput.safeParse(value);
        expect(matchesFilter(readFilter(value), settled)).toBeTypeOf('boolean');
      }),
    );
  });
});
