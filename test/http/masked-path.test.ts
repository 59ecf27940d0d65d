import { expect, test } from 'vitest';
import { newApiKey } from '../../src/auth/api-keys.ts';
import { maskedPath } from '../../src/http/masked-path.ts';

test('an API key in a path is masked, and the query is left out', () => {
  expect(maskedPath(`/api/projects/${newApiKey('TEST')}/keys?after=1`)).toBe('/api/projects/••••/keys');
});

test.each([
  ['underscores', /_/g],
  ['the first letter', /^t/],
  ['everything', /./g],
])('an API key is masked even if percent-encoding hides %s', (_what, hidden) => {
  const key = newApiKey('LIVE').replace(hidden, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  expect(maskedPath(`/a%20b/${key}/keys`)).toBe('/a%20b/••••/keys');
});

test('an invalid escape next to an API key doesn’t hide it', () => {
  expect(maskedPath(`/%ff${newApiKey('TEST').replace('_', '%5F')}`)).toBe('/%ff••••');
});

test('a path without an API key stays as it is, even if its encoding is invalid', () => {
  for (const path of ['/caf%C3%A9/%2F', '/100%', '/%ff', '/']) expect(maskedPath(path)).toBe(path);
});
