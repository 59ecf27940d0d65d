import { expect, test } from 'vitest';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import { describeFields } from '../../src/connectors/describe.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';
import { listPages, readPage, section } from './pages.ts';

const SECTIONS = [
  '## Get the credential',
  '## Config',
  '## What arrives',
  '## The request',
  '## Limits and traps',
  '## When a delivery fails',
];

test('there is a page for every connector type, and for nothing else', async () => {
  const pages = (await listPages()).filter((path) => path.startsWith('docs/connectors/'));
  expect(pages).toEqual(['README', ...CONNECTOR_TYPES].map((name) => `docs/connectors/${name}.md`).sort());
});

test.each(listConnectors())('the page of $type says all there is to know, in the same order', async (definition) => {
  const page = await readPage(`docs/connectors/${definition.type}.md`);
  const headings = page.split('\n').filter((line) => line.startsWith('## '));
  expect(headings.filter((heading) => SECTIONS.includes(heading))).toEqual(SECTIONS);
  expect(headings.at(-1)).toMatch(/^## Not checked against .+ itself$/);

  expect(section(page, '## Get the credential')).toMatch(/^1\. /m);
  expect(section(page, '## When a delivery fails')).toMatch(/^\| Answer \| What happens \|$/m);
  expect(section(page, '## Limits and traps')).toMatch(/^- /m);
});

test.each(listConnectors())('the page of $type has every field of its config', async (definition) => {
  const config = section(await readPage(`docs/connectors/${definition.type}.md`), '## Config');
  const rows = Array.from(config.matchAll(/^\| `(\w+)` \| (yes|no)\b[^|]*\| (yes|no)\b/gm), ([, ...cells]) => cells);
  const yesNo = (value: boolean) => (value ? 'yes' : 'no');
  expect(rows.sort()).toEqual(
    describeFields(definition)
      .map(({ name, required, secret }) => [name, yesNo(required), yesNo(secret)])
      .sort(),
  );
});
