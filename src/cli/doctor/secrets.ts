import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { counted } from '../../connectors/shared/plain-text.ts';
import { HOW_TO_RUN } from '../../how-to-run.ts';
import { loadKeyring } from '../../secrets/keyring.ts';
import { countOlderSecrets } from '../../secrets/rotate.ts';
import { type CheckContext, type Finding, findingsOf } from './finding.ts';

export async function checkSecretKeys({ config, db }: CheckContext): Promise<Finding> {
  const { ok, warning, failed } = findingsOf('secret keys');
  const { secretKeys, dataDir } = config;
  // If SECRET_KEYS isn't set, the service creates a key file when it first starts. This check must not create it.
  const file = join(dataDir, 'secret-keys');
  const isFile = await access(file).then(
    () => true,
    () => false,
  );
  if (secretKeys === undefined && !isFile) return ok(`${file} will be created on first start`);
  const keyring = await loadKeyring({ secretKeys, dataDir });
  const { rows } = await db.pool.query<{ table: string | null }>(`SELECT to_regclass('"Webhook"') AS "table"`);
  if (rows[0]!.table === null) return ok(`current key: ${keyring.current.id}; no secrets stored yet`);
  const { rotatable, lost, apiKeys } = await countOlderSecrets(db, keyring);
  if (lost > 0) {
    return failed(
      `${lost === 1 ? '1 stored secret uses' : `${lost} stored secrets use`} a key that is missing.`,
      `Restore that key in ${secretKeys === undefined ? file : 'SECRET_KEYS'}. Without it, the secrets are lost.`,
    );
  }
  if (rotatable + apiKeys > 0) {
    return warning(
      `The current key is ${keyring.current.id}, but ${counted(rotatable, 'secret')} and ${counted(apiKeys, 'API key')} use older ones.`,
      `Run \`${HOW_TO_RUN.rotateSecrets}\`, and keep the older keys until nothing uses them.`,
    );
  }
  return ok(`current key: ${keyring.current.id}; nothing to rotate`);
}
