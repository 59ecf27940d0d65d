import type pg from 'pg';
import type { Transaction } from '../../database/client.ts';

/** Runs statements in a transaction, of Prisma or of the driver. Each statement's text has one name. */
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
