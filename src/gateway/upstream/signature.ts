import { hkdfSync, type KeyObject } from 'node:crypto';
import { signWebhook } from '../../delivery/send/signing.ts';
import type { Project } from '../../generated/prisma/client.ts';
import { createLru } from '../../lru.ts';
import type { Keyring } from '../../secrets/keyring.ts';

/** A project, and which of its secrets sign its requests. */
export type SigningProject = Pick<Project, 'id' | 'upstreamSecretVersion' | 'previousUpstreamSecretExpiresAt'>;

/** What the gateway tells the upstream about a verified payment. */
type PaidCall = {
  project: SigningProject;
  paymentId: string;
  /** EIP-55 checksummed. */
  payer: string;
  method: string;
  /** The scheme, host, and port of the upstream URL, as in `https://api.example.com`. */
  origin: string;
  /** Path and query at the upstream. */
  target: string;
  timestampSeconds: number;
};

export type UpstreamSigner = {
  /** The secret (`whsec_…`) that a project's owner uses to check that a request came through the gateway. */
  secretOf(project: Pick<SigningProject, 'id' | 'upstreamSecretVersion'>): string;
  /** Headers that prove to the upstream who paid. */
  headersOf(call: PaidCall): Record<string, string>;
};

const SECRET_BYTES = 32;
/** How many versions of projects' secrets to remember. */
const MAX_REMEMBERED = 10_000;

/**
 * Signs what the gateway tells upstreams about a payer, in the format of Standard Webhooks: `v1,` and the base64 of
 * HMAC-SHA256 over `{payment id}.{timestamp}.{payer}.{method}.{origin}{target}`. The origin is signed because a project
 * can have upstreams of different people, and the secret is the same for all of them: whoever runs one of them could
 * otherwise use the signatures that it gets at another one. Before these signatures, there are others without the origin,
 * for upstreams that don't check it yet. Neither can pass for the other, because a target starts with a slash.
 *
 * A project's secrets are derived from the deployment's master key, so nothing needs to be stored but the number of the
 * current one. While the master key or the project's secret is being replaced, there are several signatures. The secret
 * shown to users comes from the current key.
 */
export function createUpstreamSigner(keyring: Keyring): UpstreamSigner {
  const masters = [keyring.current, ...[...keyring.all.values()].filter((entry) => entry !== keyring.current)];
  const remembered = createLru<string[]>(MAX_REMEMBERED);

  /** One version of a project's secret, from each master key. Deriving takes longer than signing, so they are remembered. */
  function secretsOf(projectId: string, version: number): string[] {
    // The first version is from before there were versions.
    const info = version === 1 ? projectId : `${projectId}.${version}`;
    const secrets = remembered.get(info) ?? masters.map(({ upstreamSecretKey }) => secretFrom(upstreamSecretKey, info));
    remembered.set(info, secrets);
    return secrets;
  }

  return {
    secretOf: ({ id, upstreamSecretVersion }) => secretsOf(id, upstreamSecretVersion)[0]!,
    headersOf({ project, paymentId, payer, method, origin, target, timestampSeconds }) {
      const { id, upstreamSecretVersion, previousUpstreamSecretExpiresAt: end } = project;
      const isOverlap = end !== null && end.getTime() > timestampSeconds * 1000;
      const previous = isOverlap ? secretsOf(id, upstreamSecretVersion - 1) : [];
      const secrets = [...secretsOf(id, upstreamSecretVersion), ...previous];
      const signatures = [target, origin + target].map((place) =>
        signWebhook({ id: paymentId, timestampSeconds, body: `${payer}.${method}.${place}`, secrets }),
      );
      return {
        'tollgate-payment-id': paymentId,
        'tollgate-payer': payer,
        'tollgate-timestamp': String(timestampSeconds),
        'tollgate-signature': signatures.join(' '),
      };
    },
  };
}

function secretFrom(key: KeyObject, info: string): string {
  return `whsec_${Buffer.from(hkdfSync('sha256', key, '', info, SECRET_BYTES)).toString('base64')}`;
}
