import { setTimeout as sleep } from 'node:timers/promises';
import { paymentOf, type Terms, termsOf } from '../gateway/payment-header.ts';
import { now } from '../support/child.ts';
import type { TimeCollector } from './marks.ts';
import { send } from './requests.ts';

/**
 * The gateway limits how many payments from one address are verified at the same time, so buyers use different
 * addresses.
 */
const ADDRESSES = 64;
const WALLETS = 30;
const RETRY_MILLISECONDS = 300;

/** Buys from `url`, retrying until a response has been paid for. */
export async function createBuyers(url: string, times: TimeCollector) {
  const terms: Terms = termsOf(await fetch(url));
  const served = new Set<string>();
  let retries = 0;

  async function buy(index: number): Promise<void> {
    const wallet = index % WALLETS;
    const address = `198.51.100.${(index % ADDRESSES) + 1}`;
    const startedAt = now();
    for (let payment = paymentOf(terms, wallet); ; retries++) {
      const headers = { 'x-forwarded-for': address, 'payment-signature': payment.header };
      const response = await send(url, { headers });
      if (response?.status === 200) {
        served.add(payment.nonce);
        times.add('payments', now() - startedAt);
        return;
      }
      // This payment won't be accepted anymore, for example, because the clock has moved past its expiration.
      if (response?.status === 402) payment = paymentOf(terms, wallet);
      await sleep(RETRY_MILLISECONDS);
    }
  }
  return { buy, served, retries: () => retries, terms };
}
