import type { DeliveryStatus } from '../generated/cli-documents.ts';
import { Failure } from './failure.ts';

export const STATUSES: readonly DeliveryStatus[] = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED'];

/** @throws Failure that lists the statuses. */
export function statusOf(text: string): DeliveryStatus {
  const status = STATUSES.find((name) => name === text.toUpperCase());
  if (status) return status;
  throw new Failure('usage', `Unknown status "${text}". Use one of ${STATUSES.join(', ').toLowerCase()}.`);
}
