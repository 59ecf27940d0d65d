import { BaseError } from 'viem';
import type { IssuerConfig } from '../../auth/issuer-config.ts';
import type { ServedNetwork } from '../../config/networks.ts';
import { counted } from '../../connectors/shared/plain-text.ts';
import type { EgressResponse } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { FacilitatorError, REJECTS_EVERYTHING } from '../../gateway/chain/facilitator.ts';
import { createFacilitatorAuth } from '../../gateway/chain/facilitator-auth.ts';
import { createHttpFacilitator } from '../../gateway/chain/facilitator-http.ts';
import { credentialFor, offeredVersions } from '../../gateway/chain/rails.ts';
import { egressTransport } from '../../gateway/chain/rpc.ts';
import { tokenProblems } from '../../gateway/chain/token.ts';
import { type Finding, findingsOf, type Surroundings } from './finding.ts';

const LIMITS = { timeoutMilliseconds: 5_000, maxBytes: 256 * 1024 };
/** Destinations reject webhooks if the clock is off by more than 300 seconds (Standard Webhooks). */
const MAX_SKEW_SECONDS = { ok: 30, warning: 300 };

/** The key type for each algorithm: RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864. */
const KEY_TYPES: readonly [algorithm: RegExp, keyType: string][] = [
  [/^(RS|PS)/, 'RSA'],
  [/^ES/, 'EC'],
  [/^Ed/, 'OKP'],
];

export async function checkIssuers({ config, egress }: Surroundings): Promise<Finding[]> {
  if (config.issuers.length === 0) return [findingsOf('issuer').ok('the local dev issuer, with its keys in DATA_DIR')];
  const found = await Promise.all(
    config.issuers.map(async (issuer) => [await checkKeys(issuer, egress), await checkDiscovery(issuer, egress)]),
  );
  return found.flat();
}

async function checkKeys({ issuer, jwksUri, jwks, algorithms }: IssuerConfig, egress: Surroundings['egress']) {
  const { ok, failed } = findingsOf(`issuer ${issuer} keys`);
  let keys: { kty?: string; alg?: string }[];
  try {
    const document = (jwks ?? (await egress.fetchJson(jwksUri!, LIMITS))) as { keys?: unknown };
    if (!Array.isArray(document.keys))
      return failed(`${jwksUri} did not return a key set.`, 'Fix `jwksUri` in AUTH_ISSUERS.');
    keys = document.keys;
  } catch (error) {
    return failed(
      `${jwksUri}: ${messageOf(error)}`,
      'Fix `jwksUri` in AUTH_ISSUERS, or allow this machine to reach it.',
    );
  }
  const usable = algorithms.filter((algorithm) => {
    const keyType = KEY_TYPES.find(([pattern]) => pattern.test(algorithm))![1];
    return keys.some(({ kty, alg }) => kty === keyType && (alg === undefined || alg === algorithm));
  });
  if (usable.length > 0) return ok(`${counted(keys.length, 'key')} for ${usable.join(', ')}`);
  const published = [...new Set(keys.map(({ alg, kty }) => alg ?? kty))].join(', ') || 'none';
  return failed(
    `No published key matches ${algorithms.join(', ')}. The provider publishes: ${published}.`,
    'Add the provider’s algorithm to `algorithms` in AUTH_ISSUERS.',
  );
}

/** OpenID Connect Discovery 1.0 §4. Optional for providers. */
async function checkDiscovery({ issuer, jwksUri }: IssuerConfig, egress: Surroundings['egress']): Promise<Finding> {
  const { ok, warning, failed } = findingsOf(`issuer ${issuer} discovery`);
  if (!URL.canParse(issuer)) return ok('skipped, because the issuer is not a URL');
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  let found: { issuer?: string; jwks_uri?: string };
  try {
    found = (await egress.fetchJson(url, LIMITS)) as typeof found;
  } catch (error) {
    return warning(
      `${url}: ${messageOf(error)}`,
      "If the provider doesn't support discovery, ignore this. Otherwise, check `issuer`.",
    );
  }
  if (found.issuer !== issuer) {
    return failed(
      `The provider’s issuer is ${found.issuer}, so its tokens are rejected.`,
      'Use exactly that value for `issuer` in AUTH_ISSUERS, with or without a trailing slash, as shown.',
    );
  }
  if (jwksUri && found.jwks_uri !== jwksUri) {
    return warning(
      `The provider publishes its keys at ${found.jwks_uri}.`,
      'Use that URL as `jwksUri` in AUTH_ISSUERS.',
    );
  }
  return ok('matches AUTH_ISSUERS');
}

/** Checks the facilitator of each network. */
export async function checkFacilitators(surroundings: Surroundings): Promise<Finding[]> {
  const { networks } = surroundings.config;
  return (await Promise.all(networks.map((served) => checkFacilitator(served, surroundings)))).flat();
}

async function checkFacilitator(
  { network, facilitatorUrl: url }: ServedNetwork,
  { config, egress }: Surroundings,
): Promise<Finding[]> {
  const { ok, warning, failed } = findingsOf('facilitator');
  const auth = createFacilitatorAuth(credentialFor(url, config));
  const facilitator = createHttpFacilitator({ url, egress, auth });
  let kinds: Awaited<ReturnType<typeof facilitator.supported>>;
  try {
    kinds = await facilitator.supported();
  } catch (error) {
    const advice = 'Check FACILITATOR_URL and its credentials, and make sure this machine can reach it.';
    return [failed(`${url}: ${messageOf(error)}`, adviceOf(error) ?? advice)];
  }
  const versions = offeredVersions(kinds, network);
  const advice = 'Change FACILITATOR_URL or NETWORK.';
  if (!versions.includes(2)) {
    const names = kinds.map((kind) => `${kind.scheme} on ${kind.network} (x402 version ${kind.x402Version})`);
    const offered = [...new Set(names)].join(', ') || 'nothing';
    return [failed(`It does not settle "exact" payments on ${network.id}. It offers ${offered}.`, advice)];
  }
  const settles =
    versions.includes(1) || network.v1Name === undefined
      ? ok(`settles "exact" on ${network.id}`)
      : warning(
          `It settles "exact" payments on ${network.id}, but only for x402 version 2. Version 1 payments fail.`,
          advice,
        );
  return [settles, await checkCredentials()];

  /**
   * Many facilitators list what they support without credentials, but the other operations require them. If only
   * settlements fail, upstreams do work that nobody pays for.
   */
  async function checkCredentials(): Promise<Finding> {
    const credentials = findingsOf('facilitator credentials');
    for (const operation of ['verify', 'settle'] as const) {
      try {
        const statusCode = await facilitator.probe(operation);
        if (!REJECTS_EVERYTHING.has(statusCode)) continue;
        const advice =
          statusCode === 404 || statusCode === 405
            ? 'Check the path in FACILITATOR_URL.'
            : "Check FACILITATOR_TOKEN, or FACILITATOR_KEY_ID and FACILITATOR_KEY_SECRET, and this machine's clock.";
        return credentials.failed(
          `/${operation} responded with ${statusCode}. Every payment would be rejected.`,
          advice,
        );
      } catch (error) {
        const advice = adviceOf(error) ?? 'Check that this machine can reach FACILITATOR_URL.';
        return credentials.failed(`/${operation}: ${messageOf(error)}`, advice);
      }
    }
    return credentials.ok('accepted');
  }
}

function adviceOf(error: unknown): string | undefined {
  return error instanceof FacilitatorError ? error.advice : undefined;
}

/** Checks the node of each network. */
export async function checkChains({ config, egress }: Surroundings): Promise<Finding[]> {
  return Promise.all(config.networks.map((served) => checkChain(served, egress)));
}

async function checkChain({ network, rpcUrl }: ServedNetwork, egress: Surroundings['egress']): Promise<Finding> {
  const { ok, failed } = findingsOf('chain');
  try {
    const transport = egressTransport(egress, rpcUrl);
    const chainId = Number(await transport({}).request({ method: 'eth_chainId' }));
    if (chainId !== network.chainId)
      return failed(
        `The node is on chain ${chainId}, but the network is ${network.id}.`,
        'Change RPC_URL or RPC_URLS, or the network. Otherwise, payments with an unclear outcome cannot be resolved.',
      );
    const problems = await tokenProblems({ network, transport });
    if (problems.length === 0) return ok(`${network.title}, chain ${chainId}, with ${network.asset.symbol}`);
    return failed(
      `${problems.join(' ')} Payments on ${network.title} fail.`,
      'Use another node. If it is right, remove the network, and report the problem.',
    );
  } catch (error) {
    return failed(
      `${new URL(rpcUrl).origin}: ${messageOf(error)}`,
      'Check RPC_URL, and make sure this machine can reach it.',
    );
  }
}

/** Checks outgoing connections using the first URL in the configuration, and compares that server's clock with ours. */
export async function checkOutbound({ config, egress }: Surroundings): Promise<Finding[]> {
  const { ok, failed } = findingsOf('outgoing connections');
  const url =
    config.issuers.find(({ jwksUri }) => jwksUri)?.jwksUri ?? (config.sandbox ? undefined : config.facilitatorUrl);
  if (!url) return [ok('skipped: the configuration has no external URLs')];
  const { origin } = new URL(url);
  try {
    const { timeoutMilliseconds, maxBytes } = LIMITS;
    const response = await egress.send({
      method: 'GET',
      url,
      headers: {},
      timeoutMilliseconds,
      maxResponseBytes: maxBytes,
    });
    return [ok(`${origin} responds`), skewOf(response)];
  } catch (error) {
    const advice = ADVICE[error instanceof EgressError ? error.errorClass : ''];
    return [failed(`${origin}: ${messageOf(error)}`, advice ?? "Check this machine's firewall and network.")];
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  dns_error: "Check the host name and this machine's DNS resolver (/etc/resolv.conf).",
  target_not_allowed: 'It resolves to a non-public address. If you trust it, add the address to SERVICE_ALLOW.',
  proxy_error: 'Check EGRESS_PROXY, the proxy’s log, and the proxy’s rules.',
  tls_error:
    'Its certificate is invalid. Check its host name and expiration date, or set NODE_EXTRA_CA_CERTS for your own CA.',
};

function skewOf({ headers }: EgressResponse): Finding {
  const { ok, warning, failed } = findingsOf('clock');
  const theirs = Date.parse(String(headers.date));
  if (Number.isNaN(theirs)) return ok('skipped: no external server returned the time');
  const seconds = Math.round(Math.abs(Date.now() - theirs) / 1000);
  if (seconds <= MAX_SKEW_SECONDS.ok) return ok('matches the external server');
  const message = `It differs from the external server's clock by ${seconds} s.`;
  const advice =
    "Synchronize this machine's clock using NTP. Otherwise, tokens are rejected, and destinations reject webhooks if the clock is off by more than 300 s.";
  return seconds <= MAX_SKEW_SECONDS.warning ? warning(message, advice) : failed(message, advice);
}

function messageOf(error: unknown): string {
  // viem's messages have several lines.
  if (error instanceof BaseError && error.details) return error.details;
  return error instanceof Error ? error.message : String(error);
}
