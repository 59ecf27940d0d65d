import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';

const RELEASED = resolve(import.meta.dirname, '../../test/compatibility/released/openapi.json');

/** Requests that store what only this version can store. After each release, replace them with what is new. */
const NEW: [method: string, path: string, body: unknown][] = [
  ['PATCH', '', { description: 'Tasks', timeZone: 'Europe/Vienna' }],
  ['PATCH', '/buyer-rules', { deniedWallets: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'], maxRequests: 1_000_000 }],
  ['POST', '/invitations', { email: 'bob@example.com', role: 'VIEWER' }],
  ['POST', '/keys', { name: 'New', scopes: ['PAYMENTS'] }],
  ['POST', '/webhooks', { name: 'New', url: 'https://hooks.example.com/in', eventTypes: ['payment.failed'] }],
  [
    'POST',
    '/endpoints',
    { path: '/new', upstreamUrl: 'https://api.example.com/new', priceUsd: '0.01', methods: ['GET'] },
  ],
  [
    'POST',
    '/endpoints',
    { path: '/new', upstreamUrl: 'https://api.example.com/new', priceUsd: '0.02', methods: ['POST'] },
  ],
];

/** Checks the features of both versions on one project, on behalf of its owner. */
export async function openFeatures(dataDir: string, projectId: string) {
  const token = await (await openDevIssuer({ dataDir })).sign({ subject: 'seller', tier: 'ENTERPRISE' });
  const send = (method: string, url: string, body?: unknown) =>
    fetch(url, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    /** @throws Error if this version rejects something */
    async useNew(url: string): Promise<void> {
      for (const [method, path, body] of NEW) {
        const response = await send(method, `${url}/api/projects/${projectId}${path}`, body);
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      }
    },
    /**
     * Reads every list that the last release has, through one of that release's processes. Returns the paths that fail.
     */
    async readOld(url: string): Promise<string[]> {
      const { paths } = JSON.parse(await readFile(RELEASED, 'utf8')) as { paths: Record<string, { get?: unknown }> };
      const lists = Object.keys(paths).filter((path) => paths[path]!.get && !/\{(?!projectId)/.test(path));
      const results = await Promise.all(
        lists.map(async (path) => {
          const { status } = await send('GET', `${url}${path.replace('{projectId}', projectId)}`);
          return status < 400 ? [] : [`${path}: ${status}`];
        }),
      );
      return results.flat();
    },
  };
}
