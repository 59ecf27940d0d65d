import type pg from 'pg';
import type { Transaction } from '../../database/client.ts';

/** Runs statements in a Prisma transaction or a driver transaction. A name always stands for the same text. */
export type Writer = { query<Row>(name: string, text: string, values: readonly unknown[]): Promise<Row[]> };

export function prismaWriter(tx: Transaction): Writer {
  return { query: (_name, text, values) => tx.$queryRawUnsafe(text, ...values) };
}

export function clientWriter(client: pg.ClientBase): Writer {
  return {
    query: async <Row>(name: string, text: string, values: readonly unknown[]) =>
      (await client.query({ name, text, values: [...values] })).rows as Row[],
  };
}
