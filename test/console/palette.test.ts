import { describe, expect, test } from 'vitest';
import { type Entry, matching } from '../../src/console/layout/palette/entries.ts';
import { whyNothing } from '../../src/console/layout/palette/nothing-found.ts';
import { readPasted, TYPES_BY_PREFIX } from '../../src/console/layout/palette/pasted.ts';
import { placeAt, withPlace } from '../../src/console/layout/palette/places.ts';
import { filtersAround, millisecondsOfId } from '../../src/console/parts/id-time.ts';
import { ID_PREFIXES, newId, millisecondsOfId as storedMilliseconds } from '../../src/ids.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const WALLET = `0x${'cd'.repeat(20)}`;
const PAYMENT = newId('Payment');
const KEY = `tg_live_${'a'.repeat(39)}wxyz`;

describe('a pasted text', () => {
  test('every type of ID is recognized', () => {
    expect(Object.keys(TYPES_BY_PREFIX).sort()).toEqual(Object.values<string>(ID_PREFIXES).sort());
  });

  test.each([
    ['a hash', HASH.toUpperCase().replace('0X', '0x'), { kind: 'hash' }],
    ['a hash without its prefix', HASH.slice(2), { kind: 'hash', query: HASH }],
    ['the address of a transaction', `https://basescan.org/tx/${HASH}#eventlog`, { kind: 'hash', query: HASH }],
    ['a wallet in quotes', `"${WALLET}",`, { kind: 'wallet', query: WALLET }],
    ['an ID in uppercase', ` ${PAYMENT.toUpperCase()} `, { kind: 'id', query: PAYMENT, type: 'PAYMENT' }],
    [
      'an address of the console',
      `https://pay.example.com/console/projects/${newId('Project')}/payments/${PAYMENT}?status=FAILED`,
      { kind: 'id', query: PAYMENT, type: 'PAYMENT' },
    ],
    ['an account', newId('User'), { kind: 'related', to: 'account' }],
    ['an API key, without its secret part', KEY, { kind: 'apiKey', query: 'wxyz', prefix: 'tg_live_' }],
    ['a signing secret, not at all', 'whsec_abcdefghijkl', { kind: 'signingSecret' }],
    ['a name', ' Weather API ', { kind: 'text', query: 'Weather API' }],
    ['a URL', 'https://example.com/hook', { kind: 'text', query: 'https://example.com/hook' }],
  ])('is read as %s', (_what, text, expected) => {
    expect(readPasted(text)).toMatchObject(expected);
    expect(JSON.stringify(readPasted(KEY))).not.toContain('aaaa');
  });

  test.each([
    [PAYMENT, 'No payment with this ID in your projects.'],
    [newId('ApiKey'), 'No API key with this ID in your projects. It may have been revoked'],
    [HASH, 'No payment with this transaction hash in your projects.'],
    [WALLET, 'No customer with this wallet in your projects.'],
    [KEY, 'No API key in your projects begins with “tg_live_” and ends with “wxyz”.'],
    ['whsec_abcdefghijkl', 'This looks like a signing secret'],
    [newId('Attempt'), 'Search for the delivery.'],
    ['0x00fb…d025', 'Enter the whole wallet or transaction hash.'],
    [HASH.slice(0, -2), 'A wallet has 40 characters after “0x”, and a transaction hash has 64. This has 62.'],
    [PAYMENT.slice(0, -3), 'IDs have 26 characters after “pay_”, and this has 23.'],
    ['nothing like this', 'Nothing found by this name.'],
  ])('if nothing is found for %s, the palette says why', (text, reason) => {
    expect(whyNothing(readPasted(text))).toContain(reason);
  });
});

test('an ID contains the time for the filters of a list', () => {
  const id = newId('ApiKey');
  expect(millisecondsOfId(id)).toBe(storedMilliseconds(id));
  expect(decodeURIComponent(filtersAround('key_01jc9x2v5qe3w8k4m6n7p9r0st'))).toBe(
    'from=2024-11-10T02:04:12.247Z&to=2024-11-10T02:06:12.247Z',
  );
});

test('entries match by parts of all words, also of those that aren’t shown', () => {
  const entry = (label: string, keywords = ''): Entry => ({ key: label, type: 'Page', label, keywords, href: '/' });
  const entries = [entry('Sign out', 'log out'), entry('Audit log'), entry('Log in')];
  expect(matching(entries, ' LOG ').map(({ label }) => label)).toEqual(['Log in', 'Audit log', 'Sign out']);
  expect(matching(entries, 'out log').map(({ label }) => label)).toEqual(['Sign out']);
  expect(matching(entries, 'payment')).toEqual([]);
});

describe('recent places', () => {
  const PAGES = [
    { path: '', label: 'Overview' },
    { path: '/payments/:paymentId?', label: 'Payments' },
    { path: '/rest/:operationId?', label: 'REST reference' },
  ];

  test('are pages and items of projects', () => {
    expect(placeAt('/projects/p', PAGES)).toMatchObject({ href: '/projects/p', label: 'Overview' });
    expect(placeAt(`/projects/p/payments/${PAYMENT}`, PAGES)).toMatchObject({ type: 'Payment', label: PAYMENT });
    expect(placeAt('/projects/p/rest/createEndpoint', PAGES)).toMatchObject({ href: '/projects/p/rest' });
    expect(placeAt('/invitations', PAGES)).toBeUndefined();
    expect(placeAt('/projects/p/nowhere', PAGES)).toBeUndefined();
  });

  test('are listed once, newest first, by the best known name', () => {
    const href = `/projects/p/payments/${PAYMENT}`;
    const named = { href, type: 'Payment', label: '$0.01 GET /forecast', projectId: 'p' };
    const page = placeAt('/projects/p', PAGES)!;
    expect(withPlace([page, named], placeAt(href, PAGES)!)).toEqual([named, page]);
    expect(withPlace([page, named], page)).toEqual([page, named]);
    const many = Array.from({ length: 20 }, (_, index) => ({ ...page, href: `/projects/${index}` }));
    expect(many.reduce(withPlace, [] as ReturnType<typeof withPlace>)).toHaveLength(12);
  });
});
