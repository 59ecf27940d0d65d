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
  hosts: ['abcdefghijklmnopqrst.supabase.co'],
  credentialIn: ({ headers }) => headers.apikey ?? '',
  refuse: () => json(401, { message: 'Invalid API key', hint: 'Double check your API key.' }),
  vendorResponse(call) {
    if (call.method === 'GET') return json(200, []);
    const isRight = Object.keys(bodyOf(call)).sort().join() === COLUMNS.toSorted().join();
    return isRight ? { statusCode: 201 } : json(400, { code: 'PGRST204', message: 'Could not find the column' });
  },
});

/** A spreadsheet without rows. */
export const googleSheets = (): Vendor => {
  const rows: unknown[][] = [];
  const tabOf = (range: string) => /^'(?<tab>(?:[^']|'')*)'!/.exec(range)?.groups?.tab?.replaceAll("''", "'");
  const isTab = (tab: string | undefined) => tab === 'Sheet1' || tab === "Bob's sales/2026";
  return {
    hosts: ['sheets.googleapis.com'],
    credentialIn: bearer,
    refuse: googleRefusal,
    vendorResponse(call) {
      const [, range = '', isAppend] = /\/values\/([^/:]+(?::[A-Z]+)?)(:append)?$/.exec(call.url.pathname) ?? [];
      if (!range) {
        const sheets = ['Sheet1', "Bob's sales/2026"].map((title) => ({
          properties: { title, gridProperties: { rowCount: 1000 } },
        }));
        return json(200, { spreadsheetId: 'x', sheets });
      }
      const name = decodeURIComponent(range);
      if (!isTab(tabOf(name)))
        return json(400, {
          error: { code: 400, message: `Unable to parse range: ${name}`, status: 'INVALID_ARGUMENT' },
        });
      if (!isAppend) return json(200, { range: name, values: [rows.map(([id]) => id)] });
      const { values } = bodyOf(call);
      if (call.url.searchParams.get('valueInputOption') !== 'RAW')
        return json(400, { error: { message: 'RAW, please' } });
      rows.push(...values);
      return json(200, {
        updates: {
          updatedRows: values.length,
          updatedRange: `Sheet1!A${rows.length - values.length + 1}:J${rows.length}`,
        },
      });
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
