import type { Logger } from 'pino';
import type { Database } from '../database/client.ts';
import { runStatement, statement, statements } from '../database/statement.ts';
import type { Keyring } from './keyring.ts';
import { type SecretBox, sealedPrefix } from './secret-box.ts';

export type RotationReport = {
  /** Secrets that were sealed again under the current key. */
  rotated: number;
  /** Cells that no key in the keyring can open. They were left unchanged. */
  unreadable: { table: string; column: string; rowId: string }[];
  /**
   * Secrets that are still sealed under another key, because they are unreadable, were changed during the run, or were
   * written by a process without the new key. If there are any, run the command again.
   */
  remaining: number;
  /** Active API keys whose hash was made with an older key. Each is rehashed on its next use. */
  apiKeysUnderOlderKeys: number;
};

/** How many secrets are sealed, and how many API keys are hashed, with a key other than the current one. */
export type OlderSecrets = {
  /** Secrets sealed under a key in the keyring other than the current one. */
  rotatable: number;
  /** Secrets sealed under a key that isn't in the keyring. They can't be read. */
  lost: number;
  /** Active API keys whose hash was made with an older key. */
  apiKeys: number;
};

type SealedRow = { id: string; projectId: string; sealed: string };

/** These columns are empty in the rows of deleted webhooks and connectors. */
const SEALED_COLUMNS = [
  { table: 'Webhook', column: 'secret' },
  { table: 'Webhook', column: 'previousSecret' },
  { table: 'Webhook', column: 'secretCredentials' },
  { table: 'Connector', column: 'secretConfig' },
  { table: 'ConnectorToken', column: 'sealed' },
  { table: 'WebhookToken', column: 'sealed' },
  { table: 'ConnectorAuthorization', column: 'sealed' },
  { table: 'NoticeContacts', column: 'webhookUrl' },
  { table: 'NoticeContacts', column: 'webhookSecret' },
  { table: 'NoticeContacts', column: 'slackUrl' },
  { table: 'Endpoint', column: 'secretUpstreamHeaders' },
  { table: 'Project', column: 'secretUpstreamHeaders' },
] as const;
type SealedColumn = (typeof SEALED_COLUMNS)[number];
type NameOf<Column> = Column extends { table: infer Table extends string; column: infer Name extends string }
  ? `${Table}-${Name}`
  : never;
type Name = NameOf<SealedColumn>;

const nameOf = ({ table, column }: SealedColumn) => `${table}-${column}` as Name;
const NAMES = SEALED_COLUMNS.map(nameOf);
const forEachColumn = <Statements extends string>(name: Statements, textOf: (column: SealedColumn) => string) =>
  statements(name, NAMES, (column) => textOf(SEALED_COLUMNS.find((sealed) => nameOf(sealed) === column)!));

const READ = forEachColumn('sealed-read', ({ table, column }) => {
  const project = table === 'Project' ? 'id' : 'projectId';
  return `SELECT id, "${project}" AS "projectId", "${column}" AS sealed FROM "${table}"
    WHERE id > $1 AND "${column}" <> '' AND NOT starts_with("${column}", $2) ORDER BY id LIMIT $3`;
});

/** Updates the row only if the secret wasn't replaced in the meantime. */
const REPLACE = forEachColumn(
  'sealed-replace',
  ({ table, column }) => `UPDATE "${table}" SET "${column}" = $1 WHERE id = $2 AND "${column}" = $3`,
);

const COUNT_NOT_UNDER = forEachColumn(
  'sealed-count',
  ({ table, column }) =>
    `SELECT count(*)::int AS count FROM "${table}" WHERE "${column}" <> '' AND "${column}" NOT LIKE ALL ($1)`,
);

const COUNT_OLDER_API_KEYS = statement(
  'api-keys-count-older',
  'SELECT count(*)::int AS count FROM "ApiKey" WHERE "revokedAt" IS NULL AND NOT starts_with(hash, $1)',
);

/**
 * Seals every stored secret again under the current key while the service runs. You can stop the rotation and run it
 * again: it skips rows that are already current. It leaves the stored responses of idempotent requests alone, because
 * they are deleted after 24 hours. Keep the old key for that long.
 *
 * @param batchSize the number of rows to read at a time.
 */
export async function rotateSecrets(options: {
  db: Pick<Database, 'pool'>;
  keyring: Keyring;
  secretBox: SecretBox;
  log: Logger;
  batchSize?: number;
}): Promise<RotationReport> {
  const { db, keyring, secretBox, log, batchSize = 200 } = options;
  const prefix = sealedPrefix(keyring.current.id);
  const report: RotationReport = { rotated: 0, unreadable: [], remaining: 0, apiKeysUnderOlderKeys: 0 };

  for (const target of SEALED_COLUMNS) {
    let cursor = '';
    for (;;) {
      const rows = await readBatch(target, cursor);
      if (rows.length === 0) break;
      await Promise.all(rows.map((row) => rotateRow(target, row)));
      cursor = rows.at(-1)!.id;
      log.info(
        { ...target, rotated: report.rotated, unreadable: report.unreadable.length, cursor },
        'rotating secrets',
      );
    }
    report.remaining += await countNotUnder(db, target, [`${prefix}%`]);
  }
  report.apiKeysUnderOlderKeys = await countOlderApiKeys(db, keyring);
  return report;

  async function readBatch(target: SealedColumn, cursor: string): Promise<SealedRow[]> {
    const { rows } = await runStatement(db.pool, READ[nameOf(target)](cursor, prefix, batchSize));
    // Empty cells aren't read, and null isn't either.
    return rows.map(({ id, projectId, sealed }) => ({ id, projectId: projectId!, sealed: sealed! }));
  }

  async function rotateRow(target: SealedColumn, { id, projectId, sealed }: SealedRow): Promise<void> {
    const { table, column } = target;
    const context = { table, column, rowId: id, projectId };
    let resealed: string;
    try {
      resealed = secretBox.seal(secretBox.open(sealed, context), context);
    } catch (error) {
      log.error({ err: error, table, column, rowId: id }, 'cannot decrypt a stored secret; leaving it unchanged');
      report.unreadable.push({ table, column, rowId: id });
      return;
    }
    const { rowCount } = await runStatement(db.pool, REPLACE[nameOf(target)](resealed, id, sealed));
    report.rotated += rowCount ?? 0;
  }
}

/** Counts what `rotateSecrets` would rotate, and what it couldn't. */
export async function countOlderSecrets(db: Pick<Database, 'pool'>, keyring: Keyring): Promise<OlderSecrets> {
  const known = [...keyring.all.keys()].map((id) => `${sealedPrefix(id)}%`);
  const counts = await Promise.all(
    SEALED_COLUMNS.map(async (target) => ({
      older: await countNotUnder(db, target, [`${sealedPrefix(keyring.current.id)}%`]),
      lost: await countNotUnder(db, target, known),
    })),
  );
  const older = counts.reduce((sum, count) => sum + count.older, 0);
  const lost = counts.reduce((sum, count) => sum + count.lost, 0);
  return { rotatable: older - lost, lost, apiKeys: await countOlderApiKeys(db, keyring) };
}

/** @param prefixes the prefixes, as patterns for LIKE. */
async function countNotUnder(db: Pick<Database, 'pool'>, column: SealedColumn, prefixes: string[]): Promise<number> {
  const { rows } = await runStatement(db.pool, COUNT_NOT_UNDER[nameOf(column)](prefixes));
  return rows[0]!.count;
}

async function countOlderApiKeys(db: Pick<Database, 'pool'>, { current }: Keyring): Promise<number> {
  const { rows } = await runStatement(db.pool, COUNT_OLDER_API_KEYS(`${current.id}$`));
  return rows[0]!.count;
}
