import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';

/** What to change in a connector's memory. An entry is removed only if its stored value hasn't changed. */
type Patch = {
  id: string;
  secretConfig: string;
  kept: Map<string, string>;
  forgotten: Map<string, string | null>;
};

// A value that another process has changed in the meantime is kept.
const REMEMBER = statement(
  'connector-remember',
  `
  UPDATE "Connector" c SET "memory" = (c."memory" || patch.kept) - ARRAY(
    SELECT name FROM json_to_recordset(patch.forgotten) AS forgotten(name text, known text)
    WHERE known IS NULL OR c."memory"->>name = known
  )
  FROM json_to_recordset($1::json) AS patch("id" text, "secretConfig" text, kept jsonb, forgotten json)
  WHERE c."id" = patch."id" AND c."secretConfig" = patch."secretConfig"`,
);

/** Stores the entries that connectors remember between deliveries, for a whole batch in one statement. */
export async function remember(db: Queryable, outcomes: readonly DeliveryOutcome[]): Promise<void> {
  const patches = new Map<string, Patch>();
  for (const outcome of outcomes) {
    const { connector } = outcome.delivery;
    if (!connector || Object.keys(outcome.remember).length === 0) continue;
    const { id, secretConfig } = connector;
    const patch = patches.get(id + secretConfig) ?? { id, secretConfig, kept: new Map(), forgotten: new Map() };
    patches.set(id + secretConfig, patch);
    for (const [name, value] of Object.entries(outcome.remember)) {
      if (value === '') forget(patch, name, connector.memory[name]);
      else keep(patch, name, value);
    }
  }
  if (patches.size === 0) return;
  const rows = [...patches.values()].map(({ kept, forgotten, ...rest }) => ({
    ...rest,
    kept: Object.fromEntries(kept),
    forgotten: [...forgotten].map(([name, known]) => ({ name, known })),
  }));
  await runStatement(db, REMEMBER(JSON.stringify(rows)));
}

function keep({ kept, forgotten }: Patch, name: string, value: string): void {
  kept.set(name, value);
  forgotten.delete(name);
}

function forget({ kept, forgotten }: Patch, name: string, known: string | undefined): void {
  const learned = kept.get(name);
  if (learned !== undefined && known !== undefined && learned !== known) return;
  kept.delete(name);
  forgotten.set(name, known ?? null);
}
