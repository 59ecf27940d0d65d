import { expect, test } from 'vitest';
import { didYouMean, listAll, nameFields } from '../src/did-you-mean.ts';

const FIELDS = ['description', 'eventTypes', 'iconUrl', 'priceUsd', 'upstreamHeaders', 'upstreamUrl', 'walletAddress'];

test.each([
  ['walletAdress', 'walletAddress'],
  ['wallet_address', 'walletAddress'],
  ['WALLETADDRESS', 'walletAddress'],
  ['price', 'priceUsd'],
  ['wallet', 'walletAddress'],
  ['events', 'eventTypes'],
  ['headers', 'upstreamHeaders'],
])('%s means %s', (given, meant) => {
  expect(didYouMean(given, FIELDS)).toBe(` Did you mean \`${meant}\`?`);
});

test.each([
  ['is contained in several names', 'url'],
  ['is short', 'us'],
  ['is unlike every name', 'frequency'],
  ['is empty', ''],
  ['is long', 'walletAddress'.repeat(5)],
])('no name is suggested for one that %s', (_why, given) => {
  expect(didYouMean(given, FIELDS)).toBe('');
  expect(nameFields(given, FIELDS)).toBe(` The fields are ${FIELDS.join(', ')}.`);
});

test('of two names that are equally similar, the one of the same length is suggested', () => {
  for (const known of [
    ['from', 'format'],
    ['format', 'from'],
  ]) {
    expect(didYouMean('fromat', known)).toBe(' Did you mean `format`?');
  }
});

test('a single name is not listed in the plural', () => {
  const lists = [['q'], [], ['a', 'b']].map((names) => listAll('field', names));
  expect(lists).toEqual([' The only field is q.', '', ' The fields are a, b.']);
});
