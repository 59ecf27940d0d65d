import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EVENT_FIELDS, OPERATORS, type Operator } from '../../src/console/parts/filter-builder/fields.ts';
import {
  type Condition,
  type Group,
  type Item,
  isGroup,
  newCondition,
  newGroup,
  readFilter,
  withField,
  withOperator,
  writeFilter,
} from '../../src/console/parts/filter-builder/model.ts';
import { EVENT_FIELDS as FIELDS_OF_EVENTS } from '../../src/events/fields.ts';
import { OPERATORS as ALL_OPERATORS, matchesFilter } from '../../src/events/filter.ts';
import { readFilter as parse } from '../../src/events/filter-input.ts';
import { SAMPLE_PAYLOADS } from '../../src/events/samples.ts';
import { EVENT_TYPES } from '../../src/events/types.ts';

const SAMPLES = EVENT_TYPES.map((type) => ({ type, data: SAMPLE_PAYLOADS[type] }));

/** The service's errors for a filter. */
function faultsOf(filter: unknown): string[] {
  const faults: string[] = [];
  parse(filter, (path, message) => faults.push(`${path.join('/')}: ${message}`));
  return faults;
}

const matchedBy = (filter: unknown) => SAMPLES.map((event) => matchesFilter(parse(filter), event));

/** A group as it is shown, without the keys of its rows. */
const shown = (item: Item): object =>
  isGroup(item)
    ? { match: item.match, items: item.items.map(shown) }
    : { field: item.field, operator: item.operator, value: item.value };

/** A value that can be entered for a field. */
function entered(field: string): fc.Arbitrary<string> {
  const { type, choices } = FIELDS_OF_EVENTS.get(field)!;
  if (choices) return fc.constantFrom(...choices);
  if (type === 'integer') return fc.integer({ min: -5, max: 500 }).map(String);
  if (type === 'decimal') return fc.integer({ min: 0, max: 500 }).map((cents) => (cents / 100).toFixed(2));
  return fc.constantFrom('/', 'GET', '0x', 'Base', 'upstream_error');
}

const condition: fc.Arbitrary<Condition> = fc
  .constantFrom(...Object.keys(EVENT_FIELDS))
  .chain((field) => fc.tuple(fc.constant(field), fc.constantFrom(...OPERATORS[EVENT_FIELDS[field]!.type])))
  .chain(([field, operator]) => {
    const value: fc.Arbitrary<string | string[]> =
      operator === 'exists'
        ? fc.constantFrom('true', 'false')
        : operator === 'in'
          ? fc.array(entered(field), { minLength: 1, maxLength: 3 })
          : entered(field);
    return value.map((chosen) => ({ ...newCondition(), field, operator, value: chosen }));
  });
const groupOf = (item: fc.Arbitrary<Item>): fc.Arbitrary<Group> =>
  fc
    .tuple(fc.constantFrom('all' as const, 'any' as const), fc.array(item, { minLength: 1, maxLength: 4 }))
    .map(([match, items]) => newGroup(match, items));
const form = groupOf(fc.oneof(condition, groupOf(condition)));

describe('the table of fields in the filter form', () => {
  test('has every event field that filters can use, with its type and choices', () => {
    const table = Object.entries(EVENT_FIELDS).map(([name, field]) => {
      if (field.type !== 'choice') return [name, { type: field.type }];
      return [name, { type: 'text', choices: 'choices' in field ? field.choices : EVENT_TYPES }];
    });
    expect(Object.fromEntries(table)).toEqual(Object.fromEntries(FIELDS_OF_EVENTS));
  });

  test.each(Object.keys(EVENT_FIELDS))('for %s, offers exactly the operators that the service accepts', (field) => {
    const [value] = fc.sample(entered(field), 1);
    const accepted = ALL_OPERATORS.filter((operator) => {
      const item = { ...withOperator({ ...newCondition(), field }, operator) };
      const filled = operator === 'exists' ? item : { ...item, value: operator === 'in' ? [value!] : value! };
      return faultsOf(writeFilter(newGroup('all', [filled]))).length === 0;
    });
    expect(accepted.toSorted()).toEqual([...OPERATORS[EVENT_FIELDS[field]!.type]].toSorted());
  });
});

describe('the filter form', () => {
  test('writes filters that the service accepts, and shows them again with the same meaning', () => {
    fc.assert(
      fc.property(form, (group) => {
        const filter = writeFilter(group);
        expect(faultsOf(filter)).toEqual([]);
        const again = readFilter(filter);
        expect(again).toBeDefined();
        expect(matchedBy(writeFilter(again!))).toEqual(matchedBy(filter));
      }),
    );
  });

  test('matches exactly the events that its rows describe', () => {
    const meaning = (item: Item, event: (typeof SAMPLES)[number]): boolean => {
      if (!isGroup(item)) return matchesFilter(parse(writeFilter(newGroup('all', [item]))), event);
      const results = item.items.map((each) => meaning(each, event));
      return item.match === 'all' ? results.every(Boolean) : results.some(Boolean);
    };
    fc.assert(
      fc.property(form, (group) => {
        expect(matchedBy(writeFilter(group))).toEqual(SAMPLES.map((event) => meaning(group, event)));
      }),
    );
  });

  test.each<[object, object]>([
    [
      { 'data.amountUsd': { gte: '1.00', lt: '5' }, type: 'payment.settled' },
      {
        match: 'all',
        items: [
          { field: 'data.amountUsd', operator: 'gte', value: '1.00' },
          { field: 'data.amountUsd', operator: 'lt', value: '5' },
          { field: 'type', operator: 'eq', value: 'payment.settled' },
        ],
      },
    ],
    [
      { or: [{ 'data.method': 'GET' }, { 'data.stage': { in: ['verify'] }, 'data.paymentCount': { gt: 3 } }] },
      {
        match: 'any',
        items: [
          { field: 'data.method', operator: 'eq', value: 'GET' },
          {
            match: 'all',
            items: [
              { field: 'data.stage', operator: 'in', value: ['verify'] },
              { field: 'data.paymentCount', operator: 'gt', value: '3' },
            ],
          },
        ],
      },
    ],
  ])('shows %j as rows', (filter, expected) => {
    expect(shown(readFilter(filter)!)).toEqual(expected);
  });

  test.each([
    { not: { type: 'payment.settled' } },
    { 'data.nope': 1 },
    { 'data.amountUsd': { near: '1' } },
    {
      or: [
        { 'data.asset': 'USDC', or: [{ 'data.method': 'GET' }, { 'data.method': 'PUT', or: [{ 'data.path': '/' }] }] },
      ],
    },
    { or: [] },
    {},
    [],
    'text',
  ])('doesn’t show %j, which is invalid or can be expressed only in JSON', (filter) => {
    expect(readFilter(filter)).toBeUndefined();
  });

  test('writes every condition, even if several have the same field and operator', () => {
    const is = (value: string) => ({ ...newCondition(), field: 'data.path', operator: 'ne' as const, value });
    const filter = writeFilter(newGroup('all', [newGroup('all', [is('/a'), is('/b')]), is('/c')]));
    expect(filter).toEqual({
      'data.path': { ne: '/a' },
      and: [{ 'data.path': { ne: '/b' } }, { 'data.path': { ne: '/c' } }],
    });
  });

  test('writes no filter if there are no rows, and null for a missing value', () => {
    expect(writeFilter(newGroup('all'))).toBeNull();
    expect(writeFilter(newGroup('any', [newGroup('all')]))).toBeNull();
    const filter = writeFilter(newGroup('all', [newCondition()]));
    expect(filter).toEqual({ 'data.amountUsd': { gte: null } });
    expect(shown(readFilter(filter)!)).toEqual(shown(newGroup('all', [newCondition()])));
  });

  test('keeps a row’s value where it makes sense when its field or operator changes', () => {
    const row = { ...newCondition(), value: '2.50' };
    const changed = (change: (condition: Condition) => Condition) => shown(change(row));
    expect(changed((each) => withField(each, 'data.totalUsd'))).toMatchObject({ operator: 'gte', value: '2.50' });
    expect(changed((each) => withField(each, 'data.stage'))).toMatchObject({ operator: 'eq', value: '' });
    const operators: [Operator, unknown][] = [
      ['in', ['2.50']],
      ['exists', 'true'],
      ['lt', '2.50'],
    ];
    for (const [operator, value] of operators)
      expect(changed((each) => withOperator(each, operator))).toMatchObject({ operator, value });
    expect(shown(withOperator(withOperator(row, 'exists'), 'eq'))).toMatchObject({ value: '' });
    expect(shown(withOperator(withOperator(row, 'in'), 'eq'))).toMatchObject({ value: '2.50' });
  });
});
