import pino from 'pino';
import { startApp } from '../../src/app.ts';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { readConfig } from '../../src/config/config.ts';
import { creator } from '../support/api.ts';

/** `emptyProjectIds`: projects for new endpoints. */
export type Data = { token: string; projectId: string; endpointId: string; emptyProjectIds: string[] };

const PROJECTS = 5;
const ENDPOINTS = 40;
/** A project can have 1,000 endpoints, and a server creates up to 50 times as many between two clean-ups. */
const EMPTY_PROJECTS = 50;
const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

/**
 * Fills an empty database through the API: an account with projects and endpoints, and a second account with the same
 * contents.
 */
export async function createData({ databaseUrl, dataDir }: { databaseUrl: string; dataDir: string }): Promise<Data> {
  const config = readConfig({ NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' });
  const app = await startApp({ config, databaseUrl, log: pino({ level: 'silent' }) });
  const issuer = await openDevIssuer({ dataDir });

  async function createFor(subject: string): Promise<Data> {
    // The rate limiter counts each request, but never rejects one.
    const token = await issuer.sign({ subject, tier: 'ENTERPRISE', requestsPerMinute: 1_000_000 });
    const create = creator(app.url, token);
    const createProject = (name: string) => create('/api/projects', { name, walletAddress: WALLET });
    const emptyProjectIds: string[] = [];
    for (let project = 0; project < EMPTY_PROJECTS; project++)
      emptyProjectIds.push(await createProject(`Empty ${project}`));
    let [projectId, endpointId] = ['', ''];
    for (let project = 0; project < PROJECTS; project++) {
      projectId = await createProject(`Project ${project}`);
      for (let number = 0; number < ENDPOINTS; number++) {
        const endpoint = { upstreamUrl: 'https://upstream.example/data', priceUsd: '0.01', description: 'Data' };
        endpointId = await create(`/api/projects/${projectId}/endpoints`, { ...endpoint, path: `/data/${number}` });
      }
    }
    return { token, projectId, endpointId, emptyProjectIds };
  }

  try {
    await createFor('other');
    return await createFor('seller');
  } finally {
    await app.stop();
  }
}
