import { createHash, randomBytes } from 'node:crypto';

/** The terms in a version 2 response. Only the fields that are read here are listed. */
export type Terms = { amount: string; payTo: string; maxTimeoutSeconds: number };

const SIGNATURE = `0x${'ab'.repeat(65)}`;

/**
 * A payment and its `PAYMENT-SIGNATURE` header. Nothing checks the signature, because that is the facilitator's job.
 */
export function paymentOf(terms: Terms, wallet: number): { nonce: string; header: string } {
  const nonce = `0x${randomBytes(32).toString('hex')}`;
  const authorization = {
    from: addressOf(wallet),
    to: terms.payTo,
    value: terms.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + terms.maxTimeoutSeconds),
    nonce,
  };
  const payment = { x402Version: 2, accepted: terms, payload: { signature: SIGNATURE, authorization } };
  return { nonce, header: Buffer.from(JSON.stringify(payment)).toString('base64') };
}

const addresses: string[] = [];

/** The wallets are the same in each run. */
function addressOf(wallet: number): string {
  addresses[wallet] ??= `0x${createHash('sha256').update(`wallet ${wallet}`).digest('hex').slice(0, 40)}`;
  return addresses[wallet];
}

/** Reads the terms from a 402 response. */
export function termsOf({ headers }: Response): Terms {
  const text = Buffer.from(headers.get('payment-required') ?? '', 'base64').toString('utf8');
  return (JSON.parse(text) as { accepts: [Terms] }).accepts[0];
}
