import { expect, test } from 'vitest';
import { headerToSend } from '../../src/console/parts/header-values.ts';

test.each([
  ['Authorization', 'Basic user:correct horse', 'Basic dXNlcjpjb3JyZWN0IGhvcnNl'],
  ['authorization', 'basic  user:', 'Basic dXNlcjo='],
  ['Authorization', 'Basic :token', 'Basic OnRva2Vu'],
  ['Authorization', 'Basic user:a:b', 'Basic dXNlcjphOmI='],
  // The "ü" is in UTF-8.
  ['Authorization', 'Basic Jürg:1', 'Basic SsO8cmc6MQ=='],
])('the user name and password in %s: %s are encoded as %s', (name, value, sent) => {
  expect(headerToSend({ name, value })).toEqual({ name, value: sent });
});

test.each([
  ['Authorization', 'Basic dXNlcjpjb3JyZWN0IGhvcnNl'],
  ['Authorization', 'Bearer a:b'],
  ['Authorization', '••••cnNl'],
  ['X-Api-Key', 'Basic a:b'],
])('%s: %s is sent unchanged', (name, value) => {
  expect(headerToSend({ name, value })).toEqual({ name, value });
});
