import { expect, test } from 'vitest';
import { CLI_MISTAKES, GRAPHQL_MISTAKES, REST_MISTAKES } from '../../scripts/mistakes.ts';
import { mistakesPage } from '../../scripts/mistakes-page.ts';
import { readPage } from './pages.ts';

test('the page about mistakes has the requests that test/conformance/mistakes.service.test.ts sends', async () => {
  expect(await readPage('docs/mistakes.md')).toBe(mistakesPage());
  const requests = [...Object.values(REST_MISTAKES).flat(), ...GRAPHQL_MISTAKES, ...CLI_MISTAKES];
  expect(requests.length).toBeGreaterThanOrEqual(48);
});
