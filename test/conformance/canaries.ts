import { randomBytes } from 'node:crypto';
import type pg from 'pg';

/** Something secret that must be found nowhere. `core` is the part of it that no encoding but base64 and hex changes. */
export type Canary = { name: string; core: string };

/** Somewhere a secret could have been left. */
export type Trace = { where: string; text: string };

/** What all planted secrets begin with, so that texts without it need not be searched for each. */
const PREFIX = 'kan4ry';

/** What a secret is found by, whatever was done to it on the way. */
function spellingsOf(core: string): string[] {
  // Three bytes make four characters: inside a longer value there are three alignments.
  const inBase64 = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(core)]).toString('base64');
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + core.length) * 8) / 6));
  });
  return [core, ...inBase64, Buffer.from(core).toString('hex')];
}

/** Where the secrets are found, as `<name> in <where>`. */
export function findCanaries(canaries: readonly Canary[], traces: readonly Trace[]): string[] {
  const searched = canaries.map(({ name, core }) => ({ name, core, spellings: spellingsOf(core) }));
  const ofPrefix = spellingsOf(PREFIX);
  return traces.flatMap(({ where, text }) => {
    const lowered = text.toLowerCase();
    const isIn = (spelling: string) => text.includes(spelling) || lowered.includes(spelling.toLowerCase());
    const mayBePlanted = ofPrefix.some(isIn);
    return searched
      .filter(({ core, spellings }) => (mayBePlanted || !core.startsWith(PREFIX)) && spellings.some(isIn))
      .map(({ name }) => `${name} in ${where}`);
  });
}

/** 32 letters and digits that are nowhere else. */
export function newCore(): string {
  return PREFIX + randomBytes(13).toString('hex');
}

/** Every column of every row of every table as text. */
export async function dumpDatabase(pool: pg.Pool): Promise<Trace[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const traces: Trace[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
    traces.push(...rows.map(({ row }, index) => ({ where: `row ${index} of ${name}`, text: row })));
  }
  return traces;
}
