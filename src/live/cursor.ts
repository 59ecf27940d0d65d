import { invalidField } from '../errors.ts';
import { firstIdAt, type IdType, isId, millisecondsOfId } from '../ids.ts';
import { MAX_LATENESS_MILLISECONDS, type Position, type Progress } from './progress.ts';

/** A cursor lists at most this many uncertain transactions. With more, some rows are sent twice after a reconnect. */
const MAX_TRANSACTIONS = 500;
const PATTERN =
  /^([0-9a-z]{1,9})\.([0-9a-z_]{1,32})\.([0-9a-z]{1,9})\.([0-9a-z]{1,10})\.((?:[0-9a-z]{1,7}(?:_[0-9a-z]{1,7}){0,499})?)$/;

/**
 * Encodes a follower's progress as an opaque cursor. Each uncertain transaction is encoded as its distance from the
 * previous one (for the first, from the horizon), which is usually a single character.
 */
export function encodeCursor({ position, readAtMilliseconds, horizon, shown }: Progress): string {
  const transactions = [...shown.keys()].filter((transaction) => transaction >= horizon).slice(-MAX_TRANSACTIONS);
  transactions.sort((a, b) => Number(a - b));
  const distances = transactions.map((transaction, index) => transaction - (transactions[index - 1] ?? horizon));
  return [
    position.milliseconds.toString(36),
    position.id,
    readAtMilliseconds.toString(36),
    horizon.toString(36),
    distances.map((distance) => distance.toString(36)).join('_'),
  ].join('.');
}

/**
 * Decodes a feed's cursor. Anyone can write a cursor, so its position is limited to one that the service could have
 * reached.
 *
 * @throws AppError `VALIDATION_FAILED` for invalid cursors.
 */
export function decodeCursor(type: IdType, cursor: string): Progress {
  const [, time, id, readAt, horizonText, transactions] = PATTERN.exec(cursor) ?? [];
  if (!time || !id || !readAt || !horizonText || !isId(type, id)) {
    throw invalidField('/after', 'Invalid cursor for this feed.');
  }
  const milliseconds = type === 'Event' ? millisecondsOfId(id) : Number.parseInt(time, 36);
  const readAtMilliseconds = Number.parseInt(readAt, 36);
  const horizon = BigInt(Number.parseInt(horizonText, 36));
  const shown = new Map<bigint, number>();
  let transaction = horizon;
  for (const distance of transactions ? transactions.split('_') : []) {
    transaction += BigInt(Number.parseInt(distance, 36));
    shown.set(transaction, milliseconds);
  }
  const position = limitPosition(type, { milliseconds, id }, readAtMilliseconds);
  return { position, readAtMilliseconds, horizon, shown };
}

/**
 * Moves a position back if it is much later than the read that reached it. Otherwise, each read would look for late rows
 * all the way from that read to the position. Rows after the new position are sent again, so this misses nothing, even
 * if the clock of the machine that wrote the row was wrong.
 */
function limitPosition(type: IdType, position: Position, readAtMilliseconds: number): Position {
  const latest = readAtMilliseconds + MAX_LATENESS_MILLISECONDS;
  return position.milliseconds <= latest ? position : { milliseconds: latest, id: firstIdAt(type, latest) };
}
