import { findNetwork } from '../../../src/gateway/chain/networks.ts';
import type { Details } from '../../../src/gateway/discovery/details.ts';
import type { PaidRoute } from '../../../src/gateway/routing/load-routes.ts';
import { SELLER } from '../support.ts';

/** Details with a required parameter, so that an empty example would be invalid. */
export const DETAILS: Details = {
  inputSchema: {
    query: { type: 'object', properties: { city: { type: 'string', examples: ['Bern'] } }, required: ['city'] },
    body: { type: 'object', properties: { days: { type: 'integer', minimum: 1 } }, required: ['days'] },
  },
  exampleResponse: { city: 'Bern', temperature: 18 },
};

/** A route as the gateway has it in memory. */
export function routeAt(path: string, offer: Partial<PaidRoute['offer']> = {}): PaidRoute {
  const upstreamUrl = 'https://api.example.com/';
  return {
    projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
    accountId: 'user_01jc9x2v5qe3w8k4m6n7p9r0st',
    endpointId: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
    path,
    pattern: path.slice(1).split('/'),
    description: null,
    upstreamUrl,
    forwardedHeaders: [],
    methods: [],
    protocol: 'HTTP',
    settlement: 'AFTER_RESPONSE',
    timeoutSeconds: null,
    isBlocked: false,
    networks: [findNetwork('base-sepolia')!],
    credentials: () => ({ headers: {}, secrets: [] }),
    signing: {
      id: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
      upstreamSecretVersion: 1,
      previousUpstreamSecretExpiresAt: null,
    },
    payTo: SELLER,
    priceAtomic: 10_000n,
    previousPrices: [],
    offer: { mimeType: null, tags: [], serviceName: 'Shop', iconUrl: null, detailsVersion: null, ...offer },
  };
}
