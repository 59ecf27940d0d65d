import { hkdfSync, type KeyObject } from 'node:crypto';
import { signWebhook } from '../../delivery/send/signing.ts';
import type { Keyring } from '../../secrets/keyring.ts';

/** What a verified payment tells the upstream. */
export type PaidCall = {
  projectId: string;
  paymentId: string;
  /** EIP-55 checksummed. */
  payer: string;
  method: string;
  /** Path and query as the upstream gets them. */
  target: string;
  timestampSeconds: number;
};

export type UpstreamSigner = {
  /** The secret with which the owner of a project checks that a request came through the gateway: `whsec_…`. */
  secretOf(projectId: string): string;
  /** The headers that tell an upstream who has paid, and prove it. */
  headersOf(call: PaidCall): Record<string, string>;
};

const SECRET_BYTES = 32;

/**
 * Signs what upstreams are told about the payer, in the manner of Standard Webhooks: `v1,` and the base64 of
 * HMAC-SHA256 over `{payment id}.{timestamp}.{payer}.{method}.{target}`.
 *
 * A project's secret is made of the deployment's master key, so there is nothing to store. While master keys are replaced
 * there is one signature for each; the secret that is shown is that of the current one.
 */
export function createUpstreamSigner(keyring: Keyring): UpstreamSigner {
  return {
    secretOf: (projectId) => secretFrom(keyring.current.upstreamSecretKey, projectId),
    headersOf({ projectId, paymentId, payer, method, target, timestampSeconds }) {
      const secrets = [keyring.current, ...[...keyring.all.values()].filter((entry) => entry !== keyring.current)].map(
        ({ upstreamSecretKey }) => secretFrom(upstreamSecretKey, projectId),
      );
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
