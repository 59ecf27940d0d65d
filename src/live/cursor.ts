import { invalidField } from '../errors.ts';
import { type IdType, isId } from '../ids.ts';
import type { Progress } from './tail.ts';

/** More transactions than this in doubt are left out: then some rows come twice after a reconnect. */
const MAX_TRANSACTIONS = 60;
const PATTERN =
  /^([0-9a-z]{1,9})\.([0-9a-z_]{1,32})\.([0-9a-z]{1,9})\.([0-9a-z]{1,10})\.((?:[0-9a-z]{1,7}(?:-|$)){0,60})$/;

/** Writes the progress of a follower as an opaque cursor. */
export function encodeCursor({ position, lookedAtMilliseconds, horizon, shown }: Progress): string {
  const transactions = [...shown.keys()].filter((transaction) => transaction >= horizon).slice(-MAX_TRANSACTIONS);
  return [
    position.milliseconds.toString(36),
    position.id,
    lookedAtMilliseconds.toString(36),
    horizon.toString(36),
    transactions.map((transaction) => (transaction - horizon).toString(36)).join('-'),
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
  const offsets = transactions ? transactions.split('-').filter(Boolean) : [];
  return {
    position,
    lookedAtMilliseconds: Number.parseInt(lookedAt, 36),
    horizon,
    shown: new Map(offsets.map((offset) => [horizon + BigInt(Number.parseInt(offset, 36)), position.milliseconds])),
  };
}
