/** Where people look at transactions: the explorers of the networks that have a well-known one. */
const EXPLORERS: Readonly<Record<string, string>> = {
  'eip155:8453': 'https://basescan.org/tx/',
  'eip155:84532': 'https://sepolia.basescan.org/tx/',
};

/** The page about a transaction; null when there is no transaction yet, or no explorer of its network is known. */
export function explorerUrlOf(payment: { network: string; transactionHash: string | null }): string | null {
  const explorer = EXPLORERS[payment.network];
  return explorer && payment.transactionHash ? explorer + payment.transactionHash : null;
}
