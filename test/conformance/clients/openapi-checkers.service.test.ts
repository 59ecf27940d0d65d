import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROUTES } from '../../../src/rest/routes.ts';
import { caller, startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { freePort } from '../../support/free-port.ts';
import { person } from '../../support/members.ts';
import { operatorsEnv } from '../../support/operator.ts';
import { WALLET } from '../../support/resources.ts';
import { routeRequests } from '../../support/route-requests.ts';
import { installClients } from './installed.ts';
import { type Folder, openFolder, type Running } from './program.ts';

// Checkers that users run on the OpenAPI document, on the one that the server returns. Redocly runs with `npm run lint`.

const WAIT = { timeout: 120_000 };
/** Spectral's rules, except for three that don't fit the document. */
const RULES = {
  extends: [['spectral:oas', 'all']],
  rules: {
    // Tags have the order of the documentation.
    'openapi-tags-alphabetical': 'off',
    // A server's operator is unknown here, so the contact has no address.
    'contact-properties': 'off',
    // The license has an SPDX identifier, which excludes a URL.
    'license-url': 'off',
  },
};
const VALIDATE = `
import SwaggerParser from '@apidevtools/swagger-parser';
const { paths } = await SwaggerParser.validate(process.argv[2]);
console.log(Object.keys(paths).length);
`;

type Json = Record<string, unknown>;
type Document = Json & { paths: Record<string, Record<string, Json>>; components: { schemas: Record<string, Json> } };

let app: TestApp;
let alice: TestUser;
let folder: Folder;
let document: Document;

beforeAll(async () => {
  const installed = await installClients();
  app = await startTestApp({ env: { ROLES: 'api', NETWORKS: 'base,base-sepolia', ...operatorsEnv('alice') } });
  alice = await app.user('alice', 'ENTERPRISE');
  document = (await (await fetch(`${app.url}/api/openapi.json`)).json()) as Document;
  const { operationId: _, ...unnamed } = document.paths['/api/me']!.get!;
  const damaged = { ...document, paths: { ...document.paths, '/api/me': { get: { ...unnamed, parameters: 'none' } } } };
  folder = await openFolder(installed, {
    'rules.json': JSON.stringify(RULES),
    'validate.js': VALIDATE,
    'openapi.json': JSON.stringify(document),
    'damaged.json': JSON.stringify(damaged),
  });
}, 600_000);
afterAll(async () => {
  await folder?.close();
  await app?.stop();
});

async function findings(file: string): Promise<string[]> {
  const spectral = 'node_modules/@stoplight/spectral-cli/dist/index.js';
  const options = ['--ruleset', 'rules.json', '--format', 'json', '--fail-severity', 'hint', '--quiet'];
  const { code, stdout, stderr } = await folder.run([spectral, 'lint', file, ...options]);
  const found = (JSON.parse(stdout) as { code: string; path: string[] }[]).map(
    (each) => `${each.code} at ${each.path.join('.')}`,
  );
  expect({ code, stderr }).toEqual({ code: found.length === 0 ? 0 : 1, stderr: '' });
  return found;
}

test('Spectral finds nothing with all of its rules for OpenAPI', async () => {
  expect(await findings('openapi.json')).toEqual([]);
  expect(await findings('damaged.json')).toContain('operation-operationId at paths./api/me.get');
});

test('swagger-parser validates the document', async () => {
  const { code, stdout, stderr } = await folder.run(['validate.js', 'openapi.json']);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${Object.keys(document.paths).length}\n`, stderr: '' });
  expect(await folder.run(['validate.js', 'damaged.json'])).toMatchObject({ code: 1 });
});

/** Starts Prism in front of the service. It forwards everything, and names violations in a header. */
async function startPrism(file: string): Promise<{ url: string; program: Running }> {
  const port = await freePort();
  const args = ['proxy', file, app.url, '--port', String(port), '--host', '127.0.0.1'];
  const program = folder.start(['node_modules/@stoplight/prism-cli/dist/index.js', ...args]);
  await vi.waitFor(() => expect(program.stdout() + program.stderr()).toContain('Prism is listening'), WAIT);
  return { url: `http://127.0.0.1:${port}`, program };
}

/** What is wrong with a request or a response, according to Prism. */
function violationsOf(headers: Headers, part: 'request' | 'response'): string[] {
  const header = headers.get('sl-violations');
  const all = header ? (JSON.parse(header) as { location: string[]; message: string }[]) : [];
  return all
    .filter(({ location }) => location[0] === part)
    .map(({ location, message }) => `${location.join('.')} ${message}`);
}

describe('behind Prism, a proxy that validates', () => {
  let prism: Awaited<ReturnType<typeof startPrism>>;
  let through: (user: TestUser) => TestUser;
  let requestFor: ReturnType<typeof routeRequests>;

  beforeAll(async () => {
    prism = await startPrism('openapi.json');
    through = ({ subject, token }) => caller(prism.url, subject, token);
    requestFor = routeRequests(app, alice, await person(app, 'bob'));
  });

  const rows = ROUTES.map((route) => ({ route, name: `${route.method} ${route.path}` }));

  test.each(rows)('$name violates nothing, whether it succeeds or fails', async ({ route }) => {
    const { method, path: template } = route;
    const { caller: user, path, body } = await requestFor(route);
    const query = /\/search$/.test(path) ? '?q=Shop' : '';
    const send = async (by: TestUser | undefined, to: string, content = body) => {
      const headers = {
        ...(by && { authorization: `Bearer ${by.token}` }),
        ...(content && { 'content-type': 'application/json' }),
      };
      const response = await fetch(prism.url + to, {
        method,
        headers,
        ...(content && { body: JSON.stringify(content) }),
      });
      await response.arrayBuffer();
      expect(violationsOf(response.headers, 'response'), `${method} ${to} → ${response.status}`).toEqual([]);
      return response;
    };

    // Without a worker, nothing is sent. Testing a connector would send a request.
    if (route.operationId !== 'testConnector') {
      const { status, headers } = await send(user, path + query);
      expect([status, violationsOf(headers, 'request')]).toEqual([expect.toBeOneOf([200, 201, 204]), []]);
    }
    expect((await send(undefined, path + query)).status).toBe(401);
    if (template.includes(':')) {
      const elsewhere = template.replaceAll(/:(\w)\w+/g, '$1_01jc9x2v5qe3w8k4m6n7p9r0st');
      expect((await send(user, elsewhere + query)).status).toBe(404);
    }
    if (body) expect((await send(user, path, { surplus: 1 })).status).toBe(422);
    if (method === 'GET') expect((await send(user, `${path}?surplus=1`)).status).toBe(422);
  });

  test('Prism would report a violation', async () => {
    const { Project } = document.components.schemas;
    const properties = { ...(Project!.properties as Json), name: { type: 'integer' } };
    const schemas = { ...document.components.schemas, Project: { ...Project, properties } };
    const components = { ...document.components, schemas };
    await folder.write('strict.json', JSON.stringify({ ...document, components }));
    const strict = await startPrism('strict.json');
    const user = caller(strict.url, 'alice', alice.token);
    const created = await user.rest('POST', '/api/projects', { name: 'Weather', walletAddress: WALLET });
    expect([created.status, violationsOf(created.headers, 'response')]).toEqual([
      ...[201, [expect.stringContaining('response.body.name')]],
    ]);
    const rejected = await through(alice).rest('POST', '/api/projects', { name: 1 });
    expect(rejected.status).toBe(422);
    expect(violationsOf(rejected.headers, 'request')).not.toEqual([]);
  });
});
