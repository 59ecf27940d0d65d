import { expect } from 'vitest';
import { SCOPES } from '../../src/auth/permissions.ts';
import type { TestUser } from './app.ts';

export const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

export type Resource = Record<string, unknown> & { id: string };
type Fields = Record<string, unknown>;

/** The fields for a key that has every permission a key can have. */
export const EVERY_SCOPE = { scopes: [...SCOPES] };

/** Valid request bodies. */
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

/** Creates a resource over REST, and expects status 201. */
export async function create<T extends Resource = Resource>(user: TestUser, path: string, body: Fields): Promise<T> {
  const { status, body: created } = await user.rest<T>('POST', path, body);
  expect(status, JSON.stringify(created)).toBe(201);
  return created;
}

/** Creates a project. `base` is its REST path. */
export async function createProject(user: TestUser, fields: Fields = {}): Promise<Resource & { base: string }> {
  const project = await create(user, '/api/projects', { ...GOOD.project, ...fields });
  return { ...project, base: `/api/projects/${project.id}` };
}

let made = 0;

/** Creates an endpoint, at a new path unless `fields` has one. */
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
