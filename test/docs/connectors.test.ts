import { expect, test } from 'vitest';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import { describeFields } from '../../src/connectors/describe.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';
import { listPages, readPage, section } from './pages.ts';

const SECTIONS = [
  '## Set up',
  '## Configuration',
  '## What is sent',
  '## Example request',
  '## Limits',
  '## Troubleshooting',
  '## How this was tested',
];

test('every connector type has a page, and there are no other pages', async () => {
  const pages = (await listPages()).filter((path) => path.startsWith('docs/connectors/'));
  expect(pages).toEqual(['README', ...CONNECTOR_TYPES].map((name) => `docs/connectors/${name}.md`).sort());
});

test.each(listConnectors())('the $type page has every section, in the standard order', async (definition) => {
  const page = await readPage(`docs/connectors/${definition.type}.md`);
  const headings = page.split('\n').filter((line) => line.startsWith('## '));
  expect(headings).toEqual(SECTIONS);
  expect(section(page, '## Set up')).toMatch(/^1\. /m);
  expect(section(page, '## Troubleshooting')).toMatch(/^\| Response \| What happens \|$/m);
  expect(section(page, '## Limits')).toMatch(/^- /m);
});

test.each(listConnectors())("the $type page lists every field of the connector's config", async (definition) => {
  const config = section(await readPage(`docs/connectors/${definition.type}.md`), '## Configuration');
  const rows = Array.from(config.matchAll(/^\| `(\w+)` \| (yes|no)\b[^|]*\| (yes|no)\b/gm), ([, ...cells]) => cells);
  const yesNo = (value: boolean) => (value ? 'yes' : 'no');
  expect(rows.sort()).toEqual(
    describeFields(definition)
      .map(({ name, required, secret }) => [name, yesNo(required), yesNo(secret)])
      .sort(),
  );
});
