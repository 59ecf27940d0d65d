import { join } from 'node:path';
import type { TestApp } from '../support/app.ts';
import { type NodeProcess, startNode } from '../support/node-process.ts';
import type { Rails } from './support.ts';

export type GatewayProcess = NodeProcess & { url: string };

/**
 * Starts a gateway in a separate process, on the database of `app`.
 *
 * @param options `isPatient`: waits for the facilitator for as long as it takes, for tests with hundreds of payments at
 *   once.
 */
export async function startGatewayProcess(
  { databaseUrl, dataDir }: Pick<TestApp, 'databaseUrl' | 'dataDir'>,
  rails: Pick<Rails, 'env'>,
  { isPatient = false } = {},
): Promise<GatewayProcess> {
  const env = {
    EGRESS_ALLOW: '127.0.0.1/32:*',
    ...rails.env,
    NODE_ENV: 'test',
    PORT: '0',
    ROLES: 'gateway',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    DATA_DIR: dataDir,
  };
  const child = startNode(join(import.meta.dirname, 'gateway-process.ts'), [
    JSON.stringify(env),
    ...(isPatient ? ['patient'] : []),
  ]);
  const { url } = await child.nextMessage<{ url: string }>();
  return Object.assign(child, { url });
}
