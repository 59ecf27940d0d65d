import { expect } from 'vitest';
import type { TestUser } from './app.ts';

export const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

export type Resource = Record<string, unknown> & { id: string };
type Fields = Record<string, unknown>;

/** Bodies that are accepted. */
export const GOOD = {
  project: { name: 'Shop', walletAddress: WALLET },
  endpoint: { path: '/weather', upstreamUrl: 'https://api.example.com/weather', priceUsd: '0.01' },
  key: { name: 'CI' },
  connector: {
    type: 'slack',
    config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx' },
    eventTypes: ['*'],
  },
  webhook: { url: 'https://hooks.example.com/in', eventTypes: ['*'] },
};

/** Creates something over REST that must be accepted. */
export async function create<T extends Resource = Resource>(user: TestUser, path: string, body: Fields): Promise<T> {
  const { status, body: created } = await user.rest<T>('POST', path, body);
  expect(status, JSON.stringify(created)).toBe(201);
  return created;
}

/** A new project; `base` is its REST path. */
export async function createProject(user: TestUser, fields: Fields = {}): Promise<Resource & { base: string }> {
  const project = await create(user, '/api/projects', { ...GOOD.project, ...fields });
  return { ...project, base: `/api/projects/${project.id}` };
}

let made = 0;

/** A new endpoint, at a path of its own unless `fields` names one. */
export async function createEndpoint(user: TestUser, base: string, fields: Fields = {}): Promise<Resource> {
  made += 1;
  return create(user, `${base}/endpoints`, { ...GOOD.endpoint, path: `/e${made}`, ...fields });
}

export async function createWebhook(user: TestUser, base: string, fields: Fields = {}) {
  return create<Resource & { secret: string }>(user, `${base}/webhooks`, { ...GOOD.webhook, ...fields });
}

export async function createConnector(user: TestUser, base: string, fields: Fields = {}): Promise<Resource> {
  return create(user, `${base}/connectors`, { ...GOOD.connector, ...fields });
}

export async function createKey(user: TestUser, base: string, fields: Fields = {}) {
  return create<Resource & { key: string }>(user, `${base}/keys`, { ...GOOD.key, ...fields });
}
