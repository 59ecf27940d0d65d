import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { loadKeyring } from '../../secrets/keyring.ts';
import { countOlderSecrets } from '../../secrets/rotate.ts';
import { type Finding, findingsOf, type Patient } from './finding.ts';

export async function checkSecretKeys({ config, db }: Patient): Promise<Finding> {
  const { ok, warning, failed } = findingsOf('secret keys');
  const { secretKeys, dataDir } = config;
  // Without the variable the keys lie in a file, which the first start makes; looking must not make it.
  const file = join(dataDir, 'secret-keys');
  const isFile = await access(file).then(
    () => true,
    () => false,
  );
  if (secretKeys === undefined && !isFile) return ok(`${file} is made on the first start`);
  const keyring = await loadKeyring({ secretKeys, dataDir });
  const { rows } = await db.pool.query<{ table: string | null }>(`SELECT to_regclass('"Webhook"') AS "table"`);
  if (rows[0]!.table === null) return ok(`the current one is ${keyring.current.id}, nothing is stored yet`);
  const { rotatable, lost, apiKeys } = await countOlderSecrets(db, keyring);
  if (lost > 0) {
    return failed(
      `${lost} stored secrets are under a key that is not there.`,
      `Put the key they were made with back into ${secretKeys === undefined ? file : 'SECRET_KEYS'}; without it they are lost.`,
    );
  }
  if (rotatable + apiKeys > 0) {
    return warning(
      `The current key is ${keyring.current.id}; under older ones are ${rotatable} secrets and ${apiKeys} API keys.`,
      'Run `node scripts/rotate-secrets.ts`, and keep the older keys until nothing is left.',
    );
  }
  return ok(`the current one is ${keyring.current.id}, nothing is left to rotate`);
}
