import { getAddress, isAddress } from 'viem';
import { z } from 'zod';

/** An EVM address in any case. */
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * An EVM address, returned with its checksum. A mixed-case address must have a valid checksum, because a wrong one means a
 * typo (EIP-55, https://eips.ethereum.org/EIPS/eip-55).
 */
export const walletAddressInput = z
  .string()
  .meta({ pattern: ADDRESS.source })
  .transform((text, context) => {
    const message = problemOf(text);
    if (message === undefined) return getAddress(text.toLowerCase());
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

function problemOf(text: string): string | undefined {
  if (/^[^\s]+\.eth$/i.test(text))
    return 'Must be an EVM address, not an ENS name. Enter the address that the name resolves to.';
  if (text !== text.trim()) return 'Must not have spaces or line breaks around it.';
  if (!/^0x[0-9a-fA-F]*$/.test(text)) return 'Must be an EVM address: 0x and 40 hex digits.';
  if (text.length === 66)
    return 'Must be an EVM address: 0x and 40 hex digits. This one has 64. If it is a private key, never send it to anyone.';
  if (!ADDRESS.test(text)) return `Must be an EVM address: 0x and 40 hex digits. This one has ${text.length - 2}.`;
  if (text.toLowerCase() === ZERO_ADDRESS) return 'The zero address cannot receive payments.';
  const hasOneCase = text === text.toLowerCase() || text.slice(2) === text.slice(2).toUpperCase();
  if (hasOneCase || isAddress(text, { strict: true })) return undefined;
  const checksummed = getAddress(text.toLowerCase());
  return `The checksum is wrong, so there may be a typo. Check every character. If they are all correct, enter ${checksummed}.`;
}
