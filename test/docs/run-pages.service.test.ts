import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE } from '../support/programs.ts';
import { allBlocks, codeBlocks, listPages, ROOT, readPage } from './pages.ts';
import { type PageNeeds, type Stage, startStage } from './pages-stage.ts';

const run = promisify(execFile);

/** The requirements of each page. Pages that aren't listed need only a project. */
const NEEDS: Readonly<Record<string, PageNeeds>> = {
  'docs/go-live.md': { isLive: true, mode: 'TEST' },
  'docs/networks.md': { isLive: true, mode: 'LIVE' },
  'docs/operators.md': { subject: 'olga' },
};

/** The expected output of a block, by the start of the block. A block that isn't listed only has to succeed. */
const SHOWN: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  'README.md': {
    'npx tollgate pay': /\{"temperature": 18\}\s+200, paid with transaction 0x[0-9a-f]{64}/,
  },
  'docs/buyers.md': { 'curl -sS -o': /"amount": "10000"/ },
  'docs/first-connector.md': {
    'call -X POST': /ok: true/,
    ENDPOINT: /200, paid with transaction[\s\S]*(PENDING|RUNNING|SUCCEEDED)/,
    DELIVERY: /summary: /,
  },
  'docs/first-webhook.md': {
    'PROJECT=': /secret: 'whsec_/,
    'npm run --silent receiver': /Signatures are checked\./,
    'ENDPOINT=': /signature: valid\s+\{[^}]+"type": "endpoint.created"/,
    'call $TOLLGATE/api/projects/$PROJECT/webhooks/$WEBHOOK/test':
      /signature: valid\s+\{[^}]+"type": "payment.settled"/,
    'call $TOLLGATE/api/projects/$PROJECT/webhooks/$WEBHOOK/deliveries': /statusCode: 200,[^}]*retryCount: 0/,
    'call -X PATCH':
      /event: next\s+data: .*"eventType":"ENDPOINT_PRICING_CHANGED","status":"SUCCEEDED","statusCode":200/,
  },
  'docs/get-started.md': {
    'curl -sS -i': /402 Payment Required[\s\S]*payment-required: /,
    'npx tollgate pay': /\{"temperature": 18\}\s+200, paid with transaction 0x[0-9a-f]{64}/,
    'call $TOLLGATE/api/projects/$PROJECT/revenue': /totalUsd: '0.01',[\s\S]*status: 'SETTLED'/,
  },
};

/** Blocks that run until they are stopped, and what they print once another event happens. */
const ENDLESS: Readonly<Record<string, RegExp>> = {
  'curl -N': /event: next\s+data: .*ENDPOINT_CREATED/,
  'npx tollgate listen': /endpoint\.created/,
  'npx tollgate deliveries tail': /Watching deliveries in proj_/,
};

const startsWith = <T>(table: Readonly<Record<string, T>>, code: string) =>
  Object.entries(table).find(([start]) => code.startsWith(start))?.[1];

const pages = (
  await Promise.all(
    (await listPages()).map(async (page) => ({ page, blocks: codeBlocks(await readPage(page), 'bash') })),
  )
).filter(({ blocks }) => blocks.length > 0);

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.stop());

test.each(pages)('every command in $page runs as written', async ({ page, blocks }) => {
  const { shell, adapt, nudge, close } = await stage.open(NEEDS[page] ?? {});
  try {
    for (const block of blocks) {
      const code = adapt(block).trimEnd();
      const start = shell.output().length;
      const endless = startsWith(ENDLESS, block);
      if (endless) {
        await shell.type(`${code} &`);
        const afterEvent = () => nudge().then(() => shell.output().slice(start));
        await expect.poll(afterEvent, { interval: 500 }).toMatch(endless);
        continue;
      }
      await shell.type(code);
      expect(shell.output().slice(start)).not.toContain('"errors":[{');
      const shown = startsWith(SHOWN[page] ?? {}, block);
      if (shown) await shell.shows(shown, start);
    }
  } finally {
    await close();
  }
});

test('the GraphQL query in the tutorial on webhooks finds the deliveries', async () => {
  const [query] = codeBlocks(await readPage('docs/first-webhook.md'), 'graphql');
  const { data, errors } = await (await stage.app.user('alice')).graphql(query!);
  expect(errors).toBeUndefined();
  expect(JSON.stringify(data)).toContain('ENDPOINT_CREATED');
});

test('the TypeScript program for buyers pays for a request', async () => {
  const [program] = codeBlocks(await readPage('docs/buyers.md'), 'ts');
  const { adapt, close } = await stage.open({});
  const folder = await folderWithPackages();
  try {
    await writeFile(join(folder, 'buy.ts'), program!);
    const API_URL = adapt('http://127.0.0.1:4000/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st/weather');
    const env = { ...process.env, API_URL, PRIVATE_KEY: stage.sandbox.wallet.privateKey };
    const { stdout } = await run(NODE, ['buy.ts'], { cwd: folder, env });
    expect(stdout).toMatch(/^200 [\s\S]*"paidBy"/);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await close();
  }
});

/** The code that a page's programs leave to the reader. */
const LEFT_OPEN: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md':
    'declare const db: object;\ndeclare const paymentId: string;\n' +
    'declare function statement(name: string, text: string): (...values: string[]) => object;\n' +
    'declare function runStatement(db: object, bound: object): Promise<{ rows: object[] }>;',
  'docs/live.md':
    'declare function freshToken(): Promise<string>;\ndeclare function handle(event: object): Promise<void>;\n' +
    'declare const project: string;\nlet after: string | undefined;',
  'docs/payment-identifiers.md':
    "import { x402Client } from '@x402/core/client';\nconst client = new x402Client();\ndeclare const orderId: string;",
  'docs/sdk.md': 'declare const apiKey: string;\ndeclare const projectId: string;',
};
/** These packages aren't development dependencies. */
const UNTYPED = ["from '@x402/axios'", "from 'gql.tada'"];

test('the TypeScript programs on all pages compile', async () => {
  const folder = await folderWithPackages();
  try {
    const names: string[] = [];
    for (const page of await listPages())
      for (const { language, code } of allBlocks(await readPage(page))) {
        if (language !== 'ts' || UNTYPED.some((text) => code.includes(text))) continue;
        const name = `${page.replaceAll(/\W/g, '-')}-${names.length}.ts`;
        await writeFile(join(folder, name), `${LEFT_OPEN[page] ?? ''}\n${code}\nexport {};\n`);
        names.push(name);
      }
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2024',
      lib: ['es2024', 'dom'],
      module: 'nodenext',
      skipLibCheck: true,
      types: ['node'],
      allowImportingTsExtensions: true,
      paths: { '@tollgate/sdk': [join(ROOT, 'packages/sdk/src/index.ts')] },
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: names }));
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const { stdout } = await run(tsc, [], { cwd: folder }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
    expect(names.length).toBeGreaterThan(4);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** The code project of someone who has installed the packages. */
async function folderWithPackages(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-program-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  return folder;
}
