import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { readConfig } from '../../../src/config/config.ts';
import { createUpstreamUrls, createWebhookUrls } from '../../../src/features/urls/project-url.ts';
import { targetUrlInput } from '../../../src/features/urls/stored-url.ts';

const ISSUER = { issuer: 'https://id.example.com/', jwksUri: 'https://id.example.com/jwks', audience: 'tollgate' };
const PRODUCTION = {
  NODE_ENV: 'production',
  NETWORK: 'base',
  FACILITATOR_URL: 'https://facilitator.example.com',
  SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  AUTH_ISSUERS: JSON.stringify([ISSUER]),
};
const URLS = ['http://localhost:3000', 'http://127.0.0.1:3000/a', 'https://localhost:8443', 'http://[::1]:65535'];

/** What the service says about a URL, by the setting that could open it. Undefined if it accepts the URL. */
function refusals(env: NodeJS.ProcessEnv, url: string) {
  const { upstreamAllow, webhookAllow, egressAllow } = readConfig(env);
  const messageOf = ({ error }: z.ZodSafeParseResult<string>) => error?.issues[0]?.message;
  return {
    UPSTREAM_ALLOW: messageOf(createUpstreamUrls(upstreamAllow).input.safeParse(url)),
    WEBHOOK_ALLOW: messageOf(createWebhookUrls(webhookAllow).input.safeParse(url)),
    EGRESS_ALLOW: messageOf(targetUrlInput(egressAllow).safeParse(url)),
  };
}

describe('a server on the same machine', () => {
  test.each<[NodeJS.ProcessEnv]>([
    [{}],
    [{ HOST: '127.0.0.1' }],
    [{ HOST: '::1' }],
    [{ HOST: 'localhost' }],
    [{ PUBLIC_URL: 'http://localhost:4000' }],
    [{ NODE_ENV: 'development' }],
  ])('can be called in development, on any port: %j', (env) => {
    for (const url of URLS)
      expect(refusals(env, url), url).toEqual({
        UPSTREAM_ALLOW: undefined,
        WEBHOOK_ALLOW: undefined,
        EGRESS_ALLOW: undefined,
      });
  });

  test.each<[string, NodeJS.ProcessEnv]>([
    ['the service listens on every address', { HOST: '0.0.0.0' }],
    ['the service listens on every IPv6 address', { HOST: '::' }],
    ['the service listens on another address', { HOST: '192.168.1.5' }],
    ['a tunnel leads to the service', { PUBLIC_URL: 'https://tunnel.example' }],
    ['it is production', PRODUCTION],
    ['it is production on this machine', { ...PRODUCTION, HOST: '127.0.0.1' }],
  ])('can’t be called if %s, and the refusal says what is accepted and what allows more', (_why, env) => {
    const accepted =
      'The target address must be public. You can use any https URL with a public host, on port 443 or 1024 and above.';
    for (const url of URLS)
      expect(refusals(env, url), url).toEqual({
        UPSTREAM_ALLOW: `${accepted} The operator can use UPSTREAM_ALLOW to allow other addresses for a project.`,
        WEBHOOK_ALLOW: `${accepted} The operator can use WEBHOOK_ALLOW to allow other addresses for a project.`,
        EGRESS_ALLOW: `${accepted} In development, you can allow other addresses with the EGRESS_ALLOW setting.`,
      });
  });
});
