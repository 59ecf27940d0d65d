import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executablePath, openTab } from '../console/browser.ts';
import { useBrowser } from '../console/shared.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { EXPECTED, openStage, writeProgram } from './runtime-program.ts';

const WORKER = `
import { use } from './program.mjs';
onmessage = async ({ data }) => postMessage(await use(data));
`;

describe.skipIf(!executablePath)(
  'on a page of another origin, the SDK sends requests, follows a feed, and verifies a webhook',
  () => {
    useBrowser();
    let folder: string;
    let site: Receiver;
    let stage: Awaited<ReturnType<typeof openStage>>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tollgate-page-'));
      await writeProgram(folder);
      site = await startReceiver(async ({ path }) => {
        if (!path.endsWith('.mjs')) return { headers: { 'content-type': 'text/html' }, body: '<!doctype html>' };
        const body = path === '/worker.mjs' ? WORKER : await readFile(join(folder, basename(path)));
        return { headers: { 'content-type': 'text/javascript' }, body };
      });
      stage = await openStage({ CORS_ORIGINS: site.url });
    });
    afterAll(async () => {
      await stage?.close();
      await site?.close();
      await rm(folder, { recursive: true, force: true });
    });

    test('in the page', async () => {
      const page = await openTab();
      await page.goto(site.url);
      // As text, because Vitest would rewrite the import.
      const input = JSON.stringify(await stage.input());
      const result = await page.evaluate(`import('/program.mjs').then(({ use }) => use(${input}))`);
      expect(result).toEqual(EXPECTED);
    });

    test('in a worker', async () => {
      const page = await openTab();
      await page.goto(site.url);
      const result = await page.evaluate(
        (input) =>
          new Promise((resolve, reject) => {
            const worker = new Worker('/worker.mjs', { type: 'module' });
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = ({ message }) => reject(new Error(message));
            worker.postMessage(input);
          }),
        await stage.input(),
      );
      expect(result).toEqual(EXPECTED);
    });
  },
);
