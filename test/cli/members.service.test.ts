import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { commandTree, wordsOf } from '../support/command-tree.ts';
import { invite, join, person } from '../support/members.ts';
import { createProject, type Resource } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let bob: TestUser;
let base: string;
let memberId: string;
let env: Record<string, string>;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  [alice, bob] = [await person(app, 'alice', 'ENTERPRISE'), await person(app, 'bob')];
  const project = await createProject(alice);
  base = project.base;
  memberId = (await join(alice, base, bob, 'VIEWER')).id;
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: alice.token, TOLLGATE_PROJECT: project.id };
});
afterAll(() => app?.stop());

const members = (...args: string[]) => runCli(['members', ...args], env);
const linesOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

test('list prints the owner and the members', async () => {
  const { code, stdout, stderr } = await members('list');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^usr_\\w+  OWNER  alice\n${memberId}  VIEWER  bob@example.com  bob\n$`));
  expect(linesOf((await members('list', '--json')).stdout)).toMatchObject([
    { id: null, role: 'OWNER', name: 'alice' },
    { id: memberId, role: 'VIEWER', email: 'bob@example.com' },
  ]);
});

test('update changes a role, for a member given by ID or address', async () => {
  expect((await members('update', 'Bob@Example.com', '--role', 'developer')).stdout).toContain('DEVELOPER');
  const { stdout } = await members('update', memberId, '--role', 'ADMIN', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ id: memberId, role: 'ADMIN' });
});

test('invite, invitations, and revoke work', async () => {
  const invited = await members('invite', 'carol@example.com', '--role', 'viewer', '--json');
  const invitation = JSON.parse(invited.stdout);
  expect(invitation).toMatchObject({ email: 'carol@example.com', role: 'VIEWER' });
  expect((await members('invitations')).stdout).toContain(`${invitation.id}  VIEWER  carol@example.com  expires 20`);
  expect(linesOf((await members('invitations', '--json')).stdout)).toMatchObject([{ id: invitation.id }]);
  expect(await members('revoke', invitation.id)).toMatchObject({ code: 0, stdout: `${invitation.id}  revoked\n` });
  expect((await members('invitations')).stdout).toBe('');
});

test('transfer asks for confirmation and offers the project, and withdraw ends the offer', async () => {
  const refused = await runCli(['members', 'transfer', memberId], env, 'n\n');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  const { code, stdout, stderr } = await runCli(['members', 'transfer', memberId], env, 'y\n');
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^trf_\w+ {2}offered to bob /) });
  expect(stderr).toContain('The new owner can accept');
  expect((await alice.rest<Resource>('GET', `${base}/transfer`)).body).toMatchObject({ name: 'bob' });
  expect((await members('withdraw')).stdout).toContain('no longer offered');
  const offered = await members('transfer', 'dana@example.com', '--yes', '--json');
  expect(JSON.parse(offered.stdout)).toMatchObject({ email: 'dana@example.com', userId: null });
  expect(JSON.parse((await members('withdraw', '--json')).stdout)).toEqual({ projectId: env.TOLLGATE_PROJECT });
});

test('remove asks for confirmation', async () => {
  const erin = await person(app, 'erin');
  const { id } = await join(alice, base, erin, 'VIEWER');
  expect((await runCli(['members', 'remove', id], env, 'n\n')).code).toBe(2);
  expect((await erin.rest('GET', base)).status).toBe(200);
  expect((await members('remove', 'erin@example.com', '--yes')).stdout).toBe(`${id}  removed\n`);
  expect((await erin.rest('GET', base)).status).toBe(404);
});

test('invalid input gets a helpful error', async () => {
  for (const [args, code, message] of [
    [['invite', 'x@example.com', '--role', 'boss'], 2, 'Unknown role "boss". Use one of admin, developer, viewer.'],
    [['invite', 'x@example.com'], 2, "required option '--role <role>'"],
    [['update', 'nobody@example.com', '--role', 'viewer'], 7, 'The project has no member nobody@example.com.'],
    [['revoke', 'inv_00000000000000000000000000'], 7, 'Not found.'],
    [['withdraw'], 7, 'Not found.'],
  ] as const) {
    const result = await members(...args);
    expect([args, result.code, result.stdout]).toEqual([args, code, '']);
    expect(result.stderr).toContain(message);
  }
});

describe('the examples of members', () => {
  const examples = commandTree().flatMap(({ path, examples: all }) =>
    path.startsWith('members') ? all.map((example) => ({ path, example })) : [],
  );

  test.each(examples)('"$example" works', async ({ example }) => {
    const { base: at, id } = await createProject(alice);
    const { id: member } = await join(alice, at, bob, 'DEVELOPER');
    const { id: invitation } = await invite(alice, at, 'guest@example.com', 'VIEWER');
    if (example.includes('invite bob')) await alice.rest('DELETE', `${at}/members/${member}`);
    if (example.includes('withdraw')) await alice.rest('POST', `${at}/transfer`, { memberId: member });
    const words = wordsOf(example).map((word) => word.replace(/^mem_\w+$/, member).replace(/^inv_\w+$/, invitation));
    const { code, stderr } = await runCli(words, { ...env, TOLLGATE_PROJECT: id }, 'y\n');
    expect({ example, code, stderr: code === 0 ? '' : stderr }).toEqual({ example, code: 0, stderr: '' });
  });
});
