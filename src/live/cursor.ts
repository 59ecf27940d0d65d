import { invalidField } from '../errors.ts';
import { type IdType, isId } from '../ids.ts';
import type { Progress } from './tail.ts';

/** More transactions than this in doubt are left out: then some rows come twice after a reconnect. */
const MAX_TRANSACTIONS = 500;
const PATTERN =
  /^([0-9a-z]{1,9})\.([0-9a-z_]{1,32})\.([0-9a-z]{1,9})\.([0-9a-z]{1,10})\.((?:[0-9a-z]{1,7}(?:_[0-9a-z]{1,7}){0,499})?)$/;

/**
 * Writes the progress of a follower as an opaque cursor. Of the transactions in doubt each is written as its distance
 * from the one before, the first from the horizon: that is mostly a single character.
 */
export function encodeCursor({ position, lookedAtMilliseconds, horizon, shown }: Progress): string {
  const transactions = [...shown.keys()].filter((transaction) => transaction >= horizon).slice(-MAX_TRANSACTIONS);
  transactions.sort((a, b) => Number(a - b));
  const distances = transactions.map((transaction, index) => transaction - (transactions[index - 1] ?? horizon));
  return [
    position.milliseconds.toString(36),
    position.id,
    lookedAtMilliseconds.toString(36),
    horizon.toString(36),
    distances.map((distance) => distance.toString(36)).join('_'),
  ].join('.');
}

/**
 * Reads a cursor of a feed.
 *
 * @throws AppError `VALIDATION_FAILED` for what is none.
 */
export function decodeCursor(type: IdType, cursor: string): Progress {
  const [, time, id, lookedAt, horizonText, transactions] = PATTERN.exec(cursor) ?? [];
  if (!time || !id || !lookedAt || !horizonText || !isId(type, id)) {
    throw invalidField('/after', 'Is not a cursor of this feed.');
  }
  const position = { milliseconds: Number.parseInt(time, 36), id };
  const horizon = BigInt(Number.parseInt(horizonText, 36));
  const shown = new Map<bigint, number>();
  let transaction = horizon;
  for (const distance of transactions ? transactions.split('_') : []) {
    transaction += BigInt(Number.parseInt(distance, 36));
    shown.set(transaction, position.milliseconds);
  }
  return { position, lookedAtMilliseconds: Number.parseInt(lookedAt, 36), horizon, shown };
}
