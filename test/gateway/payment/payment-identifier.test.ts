import { expect, test } from 'vitest';
import { identifierIn, PAYMENT_IDENTIFIER } from '../../../src/gateway/payment/payment-identifier.ts';

const withId = (id: unknown) => ({ 'payment-identifier': { info: { required: false, id } } });

test.each(['a'.repeat(16), 'pay_7d5d747be160e280504c099d984bcfe0', 'A-_9'.repeat(32)])(
  'a payment identifier of 16 to 128 letters, digits, hyphens, and underscores is accepted: %s',
  (id) => expect(identifierIn(withId(id))).toEqual({ ok: true, identifier: id }),
);

test.each([['a'.repeat(15)], ['a'.repeat(129)], ['sixteen chars ok'], [`${'a'.repeat(16)}\n`], [42], [null]])(
  'any other payment identifier is rejected: %j',
  (id) => {
    const message =
      'extensions.payment-identifier.info.id: must be 16 to 128 letters, digits, hyphens, and underscores';
    expect(identifierIn(withId(id))).toEqual({ ok: false, message });
  },
);

test.each([undefined, null, 'x', [], {}, { 'payment-identifier': 1 }, PAYMENT_IDENTIFIER, { other: {} }])(
  'a payment without a payment identifier is accepted: %j',
  (extensions) => expect(identifierIn(extensions)).toEqual({ ok: true, identifier: undefined }),
);
