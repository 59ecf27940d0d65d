import { createAddressLimit } from '../../limits/address-limit.ts';
import { createFailedCredentials } from '../../limits/failed-credentials.ts';
import { createFailuresByNetwork } from '../../limits/failures-by-network.ts';
import { createMemoryRateLimiter, type RateLimiter } from '../../limits/rate-limit.ts';
import type { PaidRequest } from './paid-request.ts';

type CountedPayment = Pick<PaidRequest, 'reserve' | 'onUnpaid' | 'onUnclear' | 'onError'>;

/** What the ledger counts for a project's account. */
type AccountFailures = {
  check(projectId: string, address: string): void;
  countAddress(projectId: string, address: string): Promise<void>;
};

export type BadPayments = ReturnType<typeof createBadPayments>;

/** The limit for each client address. */
const BAD_PAYMENTS_PER_MINUTE = 60;
/** The limits for an IPv4 /24 and an IPv6 /48. A /48 contains 65,536 client addresses, which can all be one client's. */
const BAD_PAYMENTS_PER_MINUTE_OF_NETWORK = { ipv4: 20 * BAD_PAYMENTS_PER_MINUTE, ipv6: 10 * BAD_PAYMENTS_PER_MINUTE };

/**
 * The limit for each project and client address. A request that the API fails to serve is free, but it leaves a payment
 * and two events in the database. Some APIs respond to many honest requests with 404.
 */
const ERROR_RESPONSES_PER_MINUTE = 600;

/**
 * Limits how many payments of a client address make the service or an upstream work without being charged. If an
 * upstream takes too long or responds with too much, the buyer may not be at fault, so that counts only for its project.
 * Otherwise, an API could keep its buyers from buying elsewhere. The same applies if it fails or responds with an error.
 *
 * @param failures counts these payments toward the limit of a project's account.
 * @param now milliseconds on a monotonic clock.
 * @returns a function that takes a client address and a project and returns how to count a payment.
 */
export function createBadPayments(rateLimiter: RateLimiter, failures: AccountFailures, now = () => performance.now()) {
  const shared = { what: 'payments', failuresPerMinute: BAD_PAYMENTS_PER_MINUTE, now };
  const bad = createFailedCredentials({ ...shared, rateLimiter, scope: 'payments' });
  const network = createFailuresByNetwork({
    rateLimiter,
    scope: 'payments of network',
    what: 'payments',
    now,
    failuresPerMinute: BAD_PAYMENTS_PER_MINUTE_OF_NETWORK,
  });
  // Each process counts these for itself: there are few of them, and the database would slow them down.
  const unclear = createFailedCredentials({
    ...shared,
    rateLimiter: createMemoryRateLimiter({ now }),
    scope: 'unclear payments',
  });
  const errors = createAddressLimit({
    rateLimiter,
    scope: 'error responses',
    what: 'requests that an API failed to serve',
    requestsPerMinute: ERROR_RESPONSES_PER_MINUTE,
    now,
  });

  return (address: string, projectId: string): CountedPayment => ({
    async reserve() {
      failures.check(projectId, address);
      errors.check(address, projectId);
      (await unclear.reserve(address, projectId)).giveBack();
      network.check(address);
      const attempt = await bad.reserve(address);
      return {
        ...attempt,
        fail() {
          attempt.fail();
          void network.record(address);
        },
      };
    },
    onUnpaid() {
      void failures.countAddress(projectId, address);
      bad.record(address);
      void network.record(address);
    },
    onUnclear() {
      void failures.countAddress(projectId, address);
      unclear.record(address, projectId);
    },
    onError() {
      void failures.countAddress(projectId, address);
      // It was sent already. If it is above the limit, the next payments are rejected.
      void errors.take(address, projectId).catch(() => {});
    },
  });
}
