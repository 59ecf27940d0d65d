import { firstIdAt, type IdType } from '../ids.ts';

/** A half-open period of time, which includes `from` but not `to`. */
export type Period = { from?: Date | null | undefined; to?: Date | null | undefined };

/** A Prisma filter for a time in a period. Undefined if the period has no bounds. */
export function timeIn({ from, to }: Period): { gte?: Date; lt?: Date } | undefined {
  return from || to ? { ...(from && { gte: from }), ...(to && { lt: to }) } : undefined;
}

/** Much longer than a transaction can take from creating an ID to storing its row. */
const ID_MARGIN_MILLISECONDS = 60 * 60_000;

/**
 * A Prisma filter for rows that were created in a period. IDs start with their creation time, so an index can skip all
 * other rows and even whole partitions.
 *
 * @param column the column that contains the creation time
 */
export function createdBetween<Column extends string>(type: IdType, column: Column, period: Period) {
  const { from, to } = period;
  const idAt = (time: Date, marginMilliseconds: number) => firstIdAt(type, time.getTime() + marginMilliseconds);
  const id = {
    ...(from && { gte: idAt(from, -ID_MARGIN_MILLISECONDS) }),
    ...(to && { lt: idAt(to, ID_MARGIN_MILLISECONDS) }),
  };
  const times = timeIn(period);
  return (times ? { [column]: times, id } : {}) as { [name in Column]?: typeof times } & { id?: typeof id };
}
