import { expect, test } from 'vitest';
import { credentialFor } from '../../../src/gateway/chain/rails.ts';

test.each([
  ['https://www.x402.org/facilitator', 'https://x402.org/facilitator', 'token'],
  ['https://x402.org/facilitator', 'https://www.x402.org/facilitator', 'token'],
  ['https://pay.example/a', 'https://pay.example/b', 'token'],
  ['https://pay.example', 'http://pay.example', 'none'],
  ['https://pay.example', 'https://other.example', 'none'],
  ['https://pay.example', 'https://api.pay.example', 'none'],
])('the credential for %s at %s: %s', (facilitatorUrl, url, kind) => {
  const facilitatorCredential = { kind: 'token', token: 'secret' } as const;
  expect(credentialFor(url, { facilitatorUrl, facilitatorCredential })).toMatchObject({ kind });
});
