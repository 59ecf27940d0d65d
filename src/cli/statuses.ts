import { didYouMean } from '../did-you-mean.ts';
import type { DeliveryStatus } from '../generated/cli-documents.ts';
import { Failure } from './failure.ts';

export const STATUSES: readonly DeliveryStatus[] = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED'];

/** @throws Failure that suggests a similar status or lists all of them. */
export function statusOf(text: string): DeliveryStatus {
  const status = STATUSES.find((name) => name === text.toUpperCase());
  if (status) return status;
  const names = STATUSES.map((name) => name.toLowerCase());
  const advice = didYouMean(text, names) || ` Use one of ${names.join(', ')}.`;
  throw new Failure('usage', `Unknown status "${text}".${advice}`);
}
