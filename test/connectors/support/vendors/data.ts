import type { TestResponse } from '../../../support/receiver.ts';
import { SUPABASE_HOST } from '../configs.ts';
import { bodyOf, json, type Vendor, type VendorCall } from './vendor.ts';

const bearer: Vendor['credentialIn'] = ({ headers }) => headers.authorization ?? '';
const googleRefusal = () =>
  json(401, {
    error: { code: 401, message: 'Request had invalid authentication credentials.', status: 'UNAUTHENTICATED' },
  });

const COLUMNS =
  'event_id kind occurred_at payment_id endpoint_id customer amount_usd currency network tx_hash payload'.split(' ');

export const bigquery = (): Vendor => ({
  hosts: ['bigquery.googleapis.com'],
  credentialIn: bearer,
  refuse: googleRefusal,
  vendorResponse(call) {
    if (call.method === 'GET') return json(200, { schema: { fields: COLUMNS.map((name) => ({ name })) } });
    const wrong = bodyOf(call).rows.flatMap(({ json: row }: { json: object }, index: number) =>
      Object.keys(row).every((column) => COLUMNS.includes(column)) && Object.keys(row).length === COLUMNS.length
        ? []
        : [{ index, errors: [{ reason: 'invalid', location: 'x', message: 'no such field' }] }],
    );
    return json(200, { kind: 'bigquery#tableDataInsertAllResponse', ...(wrong.length > 0 && { insertErrors: wrong }) });
  },
});

export const supabase = (): Vendor => ({
  hosts: ['abcdefghijklmnopqrst.supabase.co', SUPABASE_HOST],
  credentialIn: ({ headers }) => headers.apikey ?? '',
  refuse: () => json(401, { message: 'Invalid API key', hint: 'Double check your API key.' }),
  vendorResponse(call) {
    if (call.method === 'GET') return json(200, []);
    const isRight = Object.keys(bodyOf(call)).sort().join() === COLUMNS.toSorted().join();
    return isRight ? { statusCode: 201 } : json(400, { code: 'PGRST204', message: 'Could not find the column' });
  },
});

/** An empty German spreadsheet. Its sheets have the IDs 0 and 1. */
export const googleSheets = (): Vendor => {
  const tabs = ['Tabelle1', "Bob's sales/2026"].map((title, sheetId) => ({ title, sheetId, rows: [] as unknown[][] }));
  const failure = (message: string) => json(400, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
  const tabOf = (range: string) => {
    const title = /^'(?<title>(?:[^']|'')*)'!/.exec(range)?.groups?.title?.replaceAll("''", "'");
    return title === undefined && !range.includes('!') ? tabs[0] : tabs.find((tab) => tab.title === title);
  };

  function properties(range: string): TestResponse {
    const tab = tabOf(range);
    if (!tab) return failure(`Unable to parse range: ${range}`);
    const cellsOf = (row: unknown[]) => row.map((value) => ({ effectiveValue: { stringValue: String(value) } }));
    const data = [{ ...(tab.rows[0] && { rowData: [{ values: cellsOf(tab.rows[0]) }] }) }];
    const { title, sheetId } = tab;
    const sheet = { properties: { title, sheetId, sheetType: 'GRID', gridProperties: { rowCount: 1000 } }, data };
    return json(200, { spreadsheetId: 'x', sheets: [sheet] });
  }

  function change({ requests }: ReturnType<typeof bodyOf>): TestResponse {
    for (const { updateCells, updateSheetProperties, repeatCell } of requests) {
      const place = updateCells?.start ?? updateSheetProperties?.properties ?? repeatCell?.range;
      const tab = tabs.find(({ sheetId }) => sheetId === place?.sheetId);
      if (!tab) return failure(`Invalid requests[0]: No grid with id: ${place?.sheetId}`);
      type Cell = { userEnteredValue: { stringValue: string } };
      if (updateCells)
        tab.rows[0] = updateCells.rows[0].values.map(({ userEnteredValue }: Cell) => userEnteredValue.stringValue);
    }
    return json(200, { spreadsheetId: 'x', replies: requests.map(() => ({})) });
  }

  return {
    hosts: ['sheets.googleapis.com'],
    credentialIn: bearer,
    refuse: googleRefusal,
    vendorResponse(call) {
      const { pathname, searchParams } = call.url;
      if (pathname.endsWith(':batchUpdate')) return change(bodyOf(call));
      const [, range = '', isAppend] = /\/values\/([^/:]+(?::[A-Z]+)?)(:append)?$/.exec(pathname) ?? [];
      if (!range) return properties(searchParams.get('ranges') ?? '');
      const name = decodeURIComponent(range);
      const tab = tabOf(name);
      if (!tab) return failure(`Unable to parse range: ${name}`);
      if (!isAppend) return json(200, { range: name, values: [tab.rows.map(([id]) => id)] });
      if (searchParams.get('valueInputOption') !== 'RAW') return failure('RAW, please');
      const { values } = bodyOf(call);
      tab.rows.push(...values);
      const firstRow = tab.rows.length - values.length + 1;
      const updatedRange = `'${tab.title.replaceAll("'", "''")}'!A${firstRow}:J${tab.rows.length}`;
      return json(200, { updates: { updatedRows: values.length, updatedRange } });
    },
  };
};

export const dune = (): Vendor => {
  const tables = new Map<string, string[]>();
  return {
    hosts: ['api.dune.com'],
    credentialIn: ({ headers }) => headers['x-dune-api-key'] ?? '',
    refuse: () => json(401, { error: 'invalid API Key' }),
    vendorResponse(call) {
      if (call.method === 'GET')
        return json(200, { tables: [{ full_name: 'dune.my_team.x', owner: { handle: 'my_team' } }] });
      if (call.url.pathname === '/api/v1/uploads') {
        const { namespace, table_name: table, schema } = bodyOf(call);
        tables.set(
          `${namespace}/${table}`,
          schema.map(({ name }: { name: string }) => name),
        );
        return json(201, { namespace, table_name: table, already_existed: false });
      }
      return insertRows(call, tables);
    },
  };
};

function insertRows(call: VendorCall, tables: ReadonlyMap<string, string[]>) {
  const [, table = ''] = /^\/api\/v1\/uploads\/([^/]+\/[^/]+)\/insert$/.exec(call.url.pathname) ?? [];
  const columns = tables.get(table);
  if (!columns) return json(404, { error: 'This table was not found' });
  if (call.headers['content-type'] !== 'application/x-ndjson') return json(415, { error: 'unsupported content type' });
  const lines = call.body.trimEnd().split('\n');
  const isRight = lines.every((line) => Object.keys(JSON.parse(line)).sort().join() === columns.toSorted().join());
  return isRight
    ? json(200, { rows_written: lines.length, bytes_written: call.body.length })
    : json(400, { error: 'schema mismatch' });
}
