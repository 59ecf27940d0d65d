import { randomBytes } from 'node:crypto';
import type pg from 'pg';

/** A secret that must not appear anywhere. `core` is the part that only base64 and hex encodings change. */
export type Canary = { name: string; core: string };

/** Text that a secret could have leaked into. */
export type Trace = { where: string; text: string };

/** All planted secrets start with this, so text without it can be skipped quickly. */
const PREFIX = 'kan4ry';

/** Returns the forms in which an encoded secret can appear, in lowercase. */
function spellingsOf(core: string): string[] {
  // Base64 encodes three bytes as four characters, so a longer value can contain the secret at three alignments.
  const inBase64 = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(core)]).toString('base64');
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + core.length) * 8) / 6));
  });
  return [core, ...inBase64, Buffer.from(core).toString('hex')].map((spelling) => spelling.toLowerCase());
}

/** Lists where the secrets appear in any case, as `<name> in <where>`. */
export function findCanaries(canaries: readonly Canary[], traces: readonly Trace[]): string[] {
  const searched = canaries.map(({ name, core }) => ({
    name,
    isPlanted: core.startsWith(PREFIX),
    spellings: spellingsOf(core),
  }));
  const ofPrefix = spellingsOf(PREFIX);
  return traces.flatMap(({ where, text }) => {
    const lowered = text.toLowerCase();
    // The prefix is encoded in the same way as the secret that starts with it.
    const mayBePlanted = ofPrefix.map((spelling) => lowered.includes(spelling));
    return searched
      .filter(({ isPlanted, spellings }) =>
        spellings.some((spelling, form) => (mayBePlanted[form] || !isPlanted) && lowered.includes(spelling)),
      )
      .map(({ name }) => `${name} in ${where}`);
  });
}

/** Returns 32 unique letters and digits. */
export function newCore(): string {
  return PREFIX + randomBytes(13).toString('hex');
}

/** Returns every row of every table as text. */
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
