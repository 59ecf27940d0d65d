import { hkdfSync, type KeyObject } from 'node:crypto';
import { signWebhook } from '../../delivery/send/signing.ts';
import { createLru } from '../../lru.ts';
import type { Keyring } from '../../secrets/keyring.ts';

/** What the gateway tells the upstream about a verified payment. */
type PaidCall = {
  projectId: string;
  paymentId: string;
  /** EIP-55 checksummed. */
  payer: string;
  method: string;
  /** Path and query at the upstream. */
  target: string;
  timestampSeconds: number;
};

export type UpstreamSigner = {
  /** The secret (`whsec_…`) that a project's owner uses to check that a request came through the gateway. */
  secretOf(projectId: string): string;
  /** Headers that prove to the upstream who paid. */
  headersOf(call: PaidCall): Record<string, string>;
};

const SECRET_BYTES = 32;
/** How many projects' secrets to remember. */
const MAX_REMEMBERED = 10_000;

/**
 * Signs what the gateway tells upstreams about a payer, in the format of Standard Webhooks: `v1,` and the base64 of
 * HMAC-SHA256 over `{payment id}.{timestamp}.{payer}.{method}.{target}`.
 *
 * A project's secret is derived from the deployment's master key, so nothing needs to be stored. During a key rotation,
 * there is one signature per master key. The secret shown to users comes from the current key.
 */
export function createUpstreamSigner(keyring: Keyring): UpstreamSigner {
  const masters = [keyring.current, ...[...keyring.all.values()].filter((entry) => entry !== keyring.current)];
  const remembered = createLru<string[]>(MAX_REMEMBERED);

  /** A project's secrets, the current one first. Deriving them takes longer than signing, so they are remembered. */
  function secretsOf(projectId: string): string[] {
    const secrets =
      remembered.get(projectId) ?? masters.map(({ upstreamSecretKey }) => secretFrom(upstreamSecretKey, projectId));
    remembered.set(projectId, secrets);
    return secrets;
  }

  return {
    secretOf: (projectId) => secretsOf(projectId)[0]!,
    headersOf({ projectId, paymentId, payer, method, target, timestampSeconds }) {
      const secrets = secretsOf(projectId);
      const body = `${payer}.${method}.${target}`;
      return {
        'tollgate-payment-id': paymentId,
        'tollgate-payer': payer,
        'tollgate-timestamp': String(timestampSeconds),
        'tollgate-signature': signWebhook({ id: paymentId, timestampSeconds, body, secrets }),
      };
    },
  };
}

function secretFrom(key: KeyObject, projectId: string): string {
  return `whsec_${Buffer.from(hkdfSync('sha256', key, '', projectId, SECRET_BYTES)).toString('base64')}`;
}
