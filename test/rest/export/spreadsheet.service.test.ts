import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertPayment } from '../../support/payments.ts';
import { createProject } from '../../support/resources.ts';
import { download } from './download.ts';

const isInstalled = spawnSync('soffice', ['--version']).status === 0;
if (!isInstalled) console.warn('Skipped: exports in LibreOffice, because LibreOffice is not installed.');

/**
 * How LibreOffice opens the file: split at commas (44), quoted with `"` (34), in UTF-8 (76), with numbers and dates as in
 * American English (1033). Formulas are evaluated, as they are when a person opens the file.
 */
const IMPORT = 'CSV:44,34,76,1,,1033,false,true,false,false,false,-1,true';
const COUNT = 1_000;
/** What buyers and upstreams could send. Each of these is in a column of text. */
const HOSTILE = ['=1+1', '+cmd|x', '-2+3', '@SUM(A1)', '=HYPERLINK("https://example.com")', '\t=1+1', "'=1", '＝1+1'];

type Cell = { type: string | undefined; value: string | undefined; formula: string | undefined };

/** The rows of the first sheet in LibreOffice's own XML. */
function rowsOf(xml: string): Cell[][] {
  const attribute = (tag: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
  return [...xml.matchAll(/<table:table-row[^>]*>(.*?)<\/table:table-row>/gs)].map(([, row]) =>
    [...row!.matchAll(/<table:table-cell([^>]*?)\/?>/g)].flatMap(([, tag]) => {
      const value = attribute(tag!, 'office:value') ?? attribute(tag!, 'office:date-value');
      const cell = { type: attribute(tag!, 'office:value-type'), value, formula: attribute(tag!, 'table:formula') };
      return Array.from({ length: Number(attribute(tag!, 'table:number-columns-repeated') ?? 1) }, () => cell);
    }),
  );
}

/** The name of a column, from A to ZZ. */
function letterOf(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letterOf(Math.floor(index / 26) - 1) + last;
}

describe.skipIf(!isInstalled)('in LibreOffice, an export of payments', () => {
  let app: TestApp;
  let alice: TestUser;
  let base: string;
  let header: string[];
  let rows: Cell[][];

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api' } });
    alice = await app.user('alice', 'ENTERPRISE');
    const project = await createProject(alice);
    base = project.base;
    const sql = new pg.Client({ connectionString: app.databaseUrl });
    await sql.connect();
    const { paymentId } = await insertPayment(sql, { projectId: project.id, endpointId: newId('Endpoint'), mark: 'x' });
    const ids = Array.from({ length: COUNT - 1 }, () => newId('Payment'));
    await sql.query(
      `INSERT INTO "Payment" (id, "projectId", "endpointId", "endpointPath", method, status, "x402Version", network, asset,
         "assetAddress", payer, "payTo", nonce, "amountAtomic", "validAfter", "validBefore", "requestFingerprint",
         "paymentIdentifier", "transactionHash", "settledAt")
       SELECT copy, "projectId", "endpointId", ($3::text[])[number % ${HOSTILE.length} + 1], method, status, "x402Version",
         network, asset, "assetAddress", payer, "payTo", copy, (number * 7919) % 1000003 + 1, "validAfter", "validBefore",
         copy, ($3::text[])[number % ${HOSTILE.length} + 1] || number, copy, "settledAt"
       FROM "Payment", unnest($2::text[]) WITH ORDINALITY AS copies(copy, number) WHERE id = $1`,
      [paymentId, ids, HOSTILE],
    );
    await sql.query(
      `UPDATE "RevenueDay" SET "totalAtomic" = sums.total, "paymentCount" = ${COUNT}
       FROM (SELECT sum("amountAtomic") AS total FROM "Payment" WHERE "projectId" = $1) AS sums WHERE "projectId" = $1`,
      [project.id],
    );
    await sql.end();
    const { text } = await download(app, alice, `${base}/payments/export?status=SETTLED`);
    header = text.slice(0, text.indexOf('\r\n')).split(',');
    rows = await openInLibreOffice(text);
  });
  afterAll(() => app?.stop());

  const columnOf = (name: string) => header.indexOf(name);

  /** Adds a row with the sum of each amount, as a person would, and has LibreOffice calculate it. */
  async function openInLibreOffice(text: string): Promise<Cell[][]> {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-spreadsheet-'));
    try {
      const sums = header.map((name, index) => {
        const letter = letterOf(index);
        return name.startsWith('amount') ? `=SUM(${letter}2:${letter}${COUNT + 1})` : '';
      });
      await writeFile(join(folder, 'payments.csv'), `${text}${sums.join(',')}\r\n`);
      const profile = `-env:UserInstallation=file://${folder}/profile`;
      const convert = ['--headless', '--norestore', profile, '--convert-to', 'fods', `--infilter=${IMPORT}`];
      await promisify(execFile)('soffice', [...convert, '--outdir', folder, join(folder, 'payments.csv')]);
      return rowsOf(await readFile(join(folder, 'payments.fods'), 'utf8'));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  test('has amounts whose sum is the revenue, to the unit', async () => {
    const { body } = await alice.rest<{ totals: Record<string, string | number> }>('GET', `${base}/revenue`);
    expect(body.totals.paymentCount).toBe(COUNT);
    const sums = rows[COUNT + 1]!;
    expect(sums[columnOf('amountAtomic')]).toMatchObject({ type: 'float', value: body.totals.totalAtomic });
    expect(Number(sums[columnOf('amountUsd')]!.value).toFixed(6)).toBe(Number(body.totals.totalUsd).toFixed(6));
  });

  test('has dates that are dates, and empty cells where there is no date', async () => {
    const { body } = await alice.rest<{ data: Record<string, string | null>[] }>('GET', `${base}/payments?limit=1`);
    const newest = rows[COUNT]!;
    for (const name of ['createdAt', 'settledAt', 'validBefore']) {
      const value = body.data[0]![name]!.slice(0, 19);
      expect(newest[columnOf(`${name} (UTC)`)], name).toMatchObject({ type: 'date', value });
    }
    expect(newest[columnOf('servedAt (UTC)')]!.type).toBeUndefined();
  });

  test('has no formula, whatever buyers and upstreams sent', () => {
    const formulas = rows.flatMap((row, index) => row.filter(({ formula }) => formula !== undefined).map(() => index));
    expect(formulas).toEqual([COUNT + 1, COUNT + 1]);
  });
});
