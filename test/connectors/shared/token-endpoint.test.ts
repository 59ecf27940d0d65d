import { describe, expect, test } from 'vitest';
import { classifyTokenResponse } from '../../../src/connectors/shared/token-endpoint.ts';

const classify = (body: Record<string, unknown>) =>
  classifyTokenResponse(
    'The token URL',
    { statusCode: 200, headers: {}, body: JSON.stringify(body) },
    { advice: 'Update the client.', secrets: [] },
  );

describe('a response from a token endpoint', () => {
  test('can have tokens of up to 8 KB', () => {
    const token = 't'.repeat(8_192);
    expect(classify({ access_token: token, refresh_token: token })).toMatchObject({
      kind: 'token',
      accessToken: token,
      refreshToken: token,
    });
  });

  test.each(['access', 'refresh'])('is rejected if the %s token is longer, and the reason says so', (type) => {
    const tokens = { access_token: 'a', refresh_token: 'r', [`${type}_token`]: 't'.repeat(8_193) };
    expect(classify(tokens)).toEqual({
      kind: 'pause',
      reason: `The token URL issued an ${type} token of more than 8 KB. Update the client.`.replace('an r', 'a r'),
    });
  });

  test.each([
    [0.001, 60],
    [59, 60],
    [61, 61],
    [86_401, 86_400],
    [0, 900],
    ['never', 900],
  ])('with a lifetime of %s seconds counts as %s', (expires_in, lifetimeSeconds) => {
    expect(classify({ access_token: 'a', expires_in })).toMatchObject({ kind: 'token', lifetimeSeconds });
  });
});
