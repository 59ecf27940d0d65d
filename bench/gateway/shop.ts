import pino from 'pino';
import { startApp } from '../../src/app.ts';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { readConfig } from '../../src/config/config.ts';
import { creator } from '../support/api.ts';
import { STREAMS } from './server.ts';

/**
 * Creates a project in an empty database, through the API, with an endpoint for the upstream's response and one for each
 * of its streams. Returns the path of the first endpoint. The other paths differ only in the last segment.
 */
export async function createShop(options: {
  databaseUrl: string;
  dataDir: string;
  upstreamUrl: string;
  payTo: string;
}): Promise<string> {
  const { databaseUrl, dataDir, upstreamUrl, payTo } = options;
  const settings = { NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' };
  const config = readConfig({ ...settings, EGRESS_ALLOW: '127.0.0.1/32:*' });
  const app = await startApp({ config, databaseUrl, log: pino({ level: 'silent' }) });
  const token = await (await openDevIssuer({ dataDir })).sign({ subject: 'seller', tier: 'PRO' });
  const create = creator(app.url, token);

  try {
    const projectId = await create('/api/projects', { name: 'Shop', walletAddress: payTo });
    const endpoint = { path: '/data', upstreamUrl, priceUsd: '0.01', description: 'Data' };
    await create(`/api/projects/${projectId}/endpoints`, endpoint);
    for (const name of STREAMS) {
      const streamed = { path: `/${name}`, upstreamUrl: new URL(name, upstreamUrl), settlement: 'BEFORE_REQUEST' };
      await create(`/api/projects/${projectId}/endpoints`, { ...endpoint, ...streamed });
    }
    return `/gateway/${projectId}/data`;
  } finally {
    await app.stop();
  }
}
