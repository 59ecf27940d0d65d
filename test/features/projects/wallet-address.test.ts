import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { walletAddressInput } from '../../../src/features/projects/wallet-address.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

function messageOf(text: string): string | undefined {
  const result = walletAddressInput.safeParse(text);
  return result.success ? undefined : result.error.issues[0]!.message;
}

describe('a wallet address', () => {
  test.each([
    ['with its checksum', WALLET],
    ['in lowercase', WALLET.toLowerCase()],
    ['in uppercase', `0x${WALLET.slice(2).toUpperCase()}`],
  ])('is accepted %s', (_how, text) => {
    expect(walletAddressInput.parse(text)).toBe(WALLET);
  });

  test.each([
    ['vitalik.eth', 'Must be an EVM address, not an ENS name. Enter the address that the name resolves to.'],
    [WALLET.slice(0, -1), 'Must be an EVM address: 0x and 40 hex digits. This one has 39.'],
    [`${WALLET}0`, 'Must be an EVM address: 0x and 40 hex digits. This one has 41.'],
    [
      `0x${'1'.repeat(64)}`,
      'Must be an EVM address: 0x and 40 hex digits. This one has 64. If it is a private key, never send it to anyone.',
    ],
    ['0x', 'Must be an EVM address: 0x and 40 hex digits. This one has 0.'],
    [WALLET.slice(2), 'Must be an EVM address: 0x and 40 hex digits.'],
    [` ${WALLET}`, 'Must not have spaces or line breaks around it.'],
    [`${WALLET}\n`, 'Must not have spaces or line breaks around it.'],
    [WALLET.replace('0x', '0X'), 'Must be an EVM address: 0x and 40 hex digits.'],
    [`0x${'0'.repeat(40)}`, 'The zero address cannot receive payments.'],
    [
      WALLET.replace('d8dA', 'd8Da'),
      `The checksum is wrong, so there may be a typo. Check every character. If they are all correct, enter ${WALLET}.`,
    ],
  ])('is rejected if it is %j, with the reason', (text, message) => {
    expect(messageOf(text)).toBe(message);
  });

  test('is accepted exactly if its case is uniform or its checksum is right', () => {
    const digit = fc.constantFrom(...'0123456789abcdefABCDEF');
    fc.assert(
      fc.property(fc.string({ unit: digit, minLength: 40, maxLength: 40 }), (digits) => {
        const message = messageOf(`0x${digits}`);
        const [, suggested] = /enter (0x\w{40})\.$/.exec(message ?? '') ?? [];
        if (suggested)
          expect([suggested.toLowerCase(), messageOf(suggested)]).toEqual([`0x${digits}`.toLowerCase(), undefined]);
        else expect(message).toBeUndefined();
      }),
    );
  });
});
