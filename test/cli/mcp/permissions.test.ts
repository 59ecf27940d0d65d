import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { type DocumentNode, print } from 'graphql';
import { expect, test } from 'vitest';
import { Failure } from '../../../src/cli/failure.ts';
import { isGranted, readGranted } from '../../../src/cli/mcp/permissions.ts';
import { createMcpServer } from '../../../src/cli/mcp/server.ts';
import { TOOLS } from '../../../src/cli/mcp/tools.ts';
import type { Session } from '../../../src/cli/session.ts';

/** A session with a service that returns the results of `respond`. */
function sessionWith(respond: (query: string) => unknown): Session {
  const client = { run: async (query: DocumentNode) => respond(print(query)) };
  return { client, signal: new AbortController().signal } as unknown as Session;
}

const namesFor = (scopes: string[]) => TOOLS.filter((tool) => isGranted(tool, new Set(scopes))).map(({ name }) => name);

test('only the tools that a key’s scopes allow are offered', () => {
  expect(namesFor([])).toEqual([]);
  expect(namesFor(['READ']).every((name) => /^(list|get|explain|follow)_/.test(name))).toBe(true);
  expect(namesFor(['READ'])).toEqual(expect.arrayContaining(['list_payments', 'list_deliveries', 'list_audit_log']));
  expect(namesFor(['WRITE'])).toEqual(['create_endpoint', 'create_webhook']);
  expect(namesFor(['PAYMENTS'])).toEqual([
    ...['list_payments', 'get_payment', 'explain_payment', 'list_customers', 'get_customer', 'get_revenue'],
  ]);
  expect(namesFor(['DELIVERIES'])).toEqual(
    expect.arrayContaining(['list_deliveries', 'explain_delivery', 'resend_delivery', 'start_replay', 'list_events']),
  );
  expect(namesFor(['DELIVERIES'])).not.toEqual(expect.arrayContaining(['list_payments']));
  expect(namesFor(['DELIVERIES'])).not.toContain('create_webhook');
  expect(namesFor(['READ', 'DELIVERIES', 'WRITE'])).toHaveLength(TOOLS.length);
});

/** A session with a service that returns an API key's scopes or, if `scopes` is null, a user's projects. */
const serviceWith = (scopes: string[] | null, roles: string[] = [], hasNextPage = false) =>
  sessionWith((query) =>
    query.includes('scopes')
      ? { viewer: { scopes } }
      : { projects: { nodes: roles.map((viewerRole) => ({ viewerRole })), pageInfo: { hasNextPage } } },
  );

test('an API key is granted its scopes, and a user what their roles allow in any project', async () => {
  expect(await readGranted(serviceWith(['READ']))).toEqual(new Set(['READ']));
  expect(await readGranted(serviceWith(null, ['VIEWER']))).toEqual(new Set(['READ']));
  const asViewerAndDeveloper = await readGranted(serviceWith(null, ['VIEWER', 'DEVELOPER']));
  expect(TOOLS.filter((tool) => isGranted(tool, asViewerAndDeveloper))).toEqual(TOOLS);
});

test('all tools are offered if the service does not say what is granted', async () => {
  const unknownField = () => {
    throw new Failure('refused', 'Cannot query field "scopes".', { code: 'GRAPHQL_INVALID' });
  };
  expect(await readGranted(sessionWith(unknownField))).toBe('unknown');
  expect(await readGranted(serviceWith(null, ['VIEWER'], true))).toBe('unknown');
  expect(TOOLS.every((tool) => isGranted(tool, 'unknown'))).toBe(true);
});

test('a rejected credential is not mistaken for a service without scopes', async () => {
  const rejected = () => {
    throw new Failure('refused', 'The API key has been revoked.', { code: 'UNAUTHENTICATED' });
  };
  await expect(readGranted(sessionWith(rejected))).rejects.toThrow('revoked');
});

test('a client sees only the tools that the key allows, and the instructions list the other tools', async () => {
  const options = { url: 'https://tollgate.example.com', credential: 'tg_live_x', projectId: 'proj_x' };
  const server = createMcpServer({ ...options, granted: new Set(['WRITE']) });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const [atClient, atServer] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(atServer), client.connect(atClient)]);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['create_endpoint', 'create_webhook']);
  expect(client.getInstructions()).toMatch(/scopes do not allow these tools: list_projects, .*list_audit_log\./);
  expect(await client.callTool({ name: 'list_payments', arguments: {} })).toMatchObject({ isError: true });
  await client.close();
});
