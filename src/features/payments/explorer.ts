/** Block explorers for the networks that have a well-known one. */
const EXPLORERS: Readonly<Record<string, string>> = {
  'eip155:8453': 'https://basescan.org/tx/',
  'eip155:84532': 'https://sepolia.basescan.org/tx/',
};

/** The explorer page for a payment's transaction. Null if there is no transaction or no known explorer. */
export function explorerUrlOf(payment: { network: string; transactionHash: string | null }): string | null {
  const explorer = EXPLORERS[payment.network];
  return explorer && payment.transactionHash ? explorer + payment.transactionHash : null;
}
